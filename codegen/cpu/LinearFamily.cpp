//===- LinearFamily.cpp - linear and embed kernels: from tile bodies, and their registry rows -----===//
#include "codegen/cpu/Embed.h"
#include "codegen/cpu/Families.h"
#include "codegen/cpu/Linear.h"
#include "dialects/tile/Describe.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace ingot;
using namespace ingot::cpu;

static spec::GateKind gateOf(tile::GateKind kind) {
  switch (kind) {
  case tile::GateKind::Silu:
    return spec::GateKind::Silu;
  case tile::GateKind::Gelu:
    return spec::GateKind::Gelu;
  case tile::GateKind::GeluTanh:
    return spec::GateKind::GeluTanh;
  }
  llvm_unreachable("gate kind");
}

static std::optional<DotKind> dotOf(tile::DotKind kind) {
  switch (kind) {
  case tile::DotKind::Fma:
    return DotKind::Fma;
  case tile::DotKind::Vnni:
    return DotKind::Vnni;
  case tile::DotKind::Maddubs:
    return DotKind::Maddubs;
  case tile::DotKind::Amx:
    return DotKind::Amx;
  case tile::DotKind::Bf16:
    return DotKind::Bf16;
  case tile::DotKind::AmxBf16:
    return DotKind::AmxBf16;
  case tile::DotKind::Undecided:
    return std::nullopt;
  }
  return std::nullopt;
}

static const char *dotName(DotKind kind) {
  return kind == DotKind::Fma       ? "fma"
         : kind == DotKind::Vnni    ? "vnni"
         : kind == DotKind::Maddubs ? "maddubs"
         : kind == DotKind::Bf16    ? "bf16"
         : kind == DotKind::AmxBf16 ? "amx_bf16"
                                    : "amx";
}

LogicalResult ingot::cpu::emitLinearFamily(tile::KernelOp kernel, KernelBuilder &k, KernelFacts &facts) {
  FailureOr<tile::LinearDesc> d = tile::describeLinear(kernel);
  if (failed(d))
    return failure();
  std::optional<DotKind> dot = dotOf(d->kind);
  if (!dot)
    return kernel.emitError() << "the dot kind is not decided";
  if (d->w.getLayout() != qfmt::Layout::N16)
    return kernel.emitError() << "CPU linear kernels read layout n16";
  LinearSpec s;
  s.n = d->n;
  s.k = d->k;
  s.scheme = d->w.getScheme();
  s.block = d->act && d->act.isQuantized() ? d->act.getBlock() : 0;
  s.rows = kernel.getRows();
  s.domain = kernel.getDomain() == tile::Domain::Out ? RowDomain::Out : RowDomain::Rows;
  s.bias = d->biasWeight >= 0;
  if (d->gate)
    s.gate = gateOf(*d->gate);
  s.softcap = d->softcap;
  s.residual = d->residual.slot >= 0;
  s.argmax = d->argmax;
  if (d->ropeKv)
    s.ropeKv = ropeKvSpec(*d->ropeKv);
  tile::ScheduleAttr schedule = *kernel.getSchedule();
  s.schedule.dot = *dot;
  // The body says which dot it is; whether it was allowed was decided when the kernel was selected.
  s.fast = tile::roundsActivations(d->kind);
  s.schedule.lanes = d->w.isFloat() ? 16 : schedule.getVector() / 4;
  s.schedule.panels = schedule.getPanels();
  s.schedule.rows = schedule.getRows();
  s.schedule.unroll = schedule.getUnroll();
  s.schedule.prefetch = schedule.getPrefetch();
  s.schedule.chunk = schedule.getChunk();
  if (std::string why = refuseLinear(s, k.target()); !why.empty())
    return kernel.emitError() << "kernel '" << kernel.getSymName() << "': " << why;
  // The emitter's operand order is the family's; a body that orders operands otherwise is not this family's.
  int expectedOut = s.residual ? 2 : 1;
  if (d->xSlot != 0 || (s.residual && (d->residual.slot != 1 || d->residual.offset != 0)) ||
      d->out.rowsSlot != expectedOut || d->wWeight != 0 || (s.bias && d->biasWeight != 1) ||
      d->out.actSlot >= 0 || d->out.rowsStride * 4 != s.outStrideBytes() ||
      (s.residual && d->residual.stride * 4 != s.outStrideBytes()) ||
      (!s.block && d->xStride * 4 != s.inStrideBytes()))
    return kernel.emitError() << "kernel '" << kernel.getSymName()
                              << "': operands in an order no linear kernel has";
  facts.scratchBytes = linearScratchBytes(s);
  facts.maxParts = linearMaxParts(s, k.target());
  emitLinear(k, s);
  return success();
}

void ingot::cpu::answerLinear(const KernelQuery &q, const target::Target &t, KernelAnswer &answer) {
  LinearSpec s;
  s.n = q.n;
  s.k = q.k;
  std::optional<qfmt::Scheme> scheme = qfmt::parseScheme(q.scheme);
  answer.hint = "--scheme (another weight format for this tensor) or --isa";
  if (!scheme) {
    answer.refused.push_back("linear: unknown scheme " + q.scheme);
    return;
  }
  s.scheme = *scheme;
  s.block = q.actBlock > 0 ? q.actBlock : 0;
  s.rows = q.rows;
  s.fast = q.fast;
  s.domain = q.outDomain ? RowDomain::Out : RowDomain::Rows;
  for (const std::string &key : q.keys) {
    if (key == "bias")
      s.bias = true;
    else if (key == "residual")
      s.residual = true;
    else if (key == "softcap")
      s.softcap = 1;
    else if (key == "argmax")
      s.argmax = true;
    else if (key == "gate_silu")
      s.gate = spec::GateKind::Silu;
    else if (key == "gate_gelu")
      s.gate = spec::GateKind::Gelu;
    else if (key == "gate_gelu_tanh")
      s.gate = spec::GateKind::GeluTanh;
    else if (key == "rope_kv") {
      s.ropeKv = ropeKvSpec(q);
      s.ropeKv->kRope.rotaryDim = q.rotaryDim;
      s.ropeKv->qRope.style = s.ropeKv->kRope.style = spec::RopeStyle::Interleaved;
    } else if (s.ropeKv && key == "rope_half")
      s.ropeKv->qRope.style = s.ropeKv->kRope.style = spec::RopeStyle::Half;
    else if (s.ropeKv && key == "rope_interleaved")
      continue;
    else if (s.ropeKv && key == "qk_norm")
      s.ropeKv->qGamma = s.ropeKv->kGamma = 1;
    else {
      answer.refused.push_back("linear: no epilogue '" + key + "'");
      return;
    }
  }
  llvm::SmallVector<LinearSchedule, 2> usual = linearSchedules(s, t);
  if (s.fast && s.scheme == qfmt::Scheme::BF16 && usual.front().dot == DotKind::Fma) {
    LinearSpec dots = s; // fast numerics were asked for and do not apply: say why
    dots.schedule = usual.front();
    dots.schedule.dot = t.hasAmxBf16() ? DotKind::AmxBf16 : DotKind::Bf16;
    dots.schedule.panels = 2;
    answer.refused.push_back(std::string("linear ") + dotName(dots.schedule.dot) + ": " +
                             refuseLinear(dots, t));
  }
  std::vector<LinearSchedule> schedules(usual.begin(), usual.end());
  if (q.allSchedules)
    schedules = allLinearSchedules(s, t);
  for (const LinearSchedule &schedule : schedules) {
    s.schedule = schedule;
    std::string row = std::string("linear ") + dotName(schedule.dot);
    if (std::string why = refuseLinear(s, t); !why.empty()) {
      answer.refused.push_back(row + ": " + why);
      continue;
    }
    KernelCandidate c;
    c.dot = dotName(schedule.dot);
    c.layout = "n16";
    c.vector = qfmt::geometry(s.scheme).isFloat ? t.vectorBits / 8 : schedule.lanes * 4;
    c.panels = schedule.panels;
    c.rows = schedule.rows;
    c.unroll = schedule.unroll;
    c.prefetch = schedule.prefetch;
    c.chunk = schedule.chunk;
    c.ops = linearOps(s);
    c.cost = linearCost(s, t);
    c.reason = row + ", tile of " + std::to_string(schedule.rows) + " rows" +
               (s.argmax ? ", logits or their arg-max" : "");
    answer.candidates.push_back(c);
  }
}

LogicalResult ingot::cpu::emitEmbedFamily(tile::KernelOp kernel, KernelBuilder &k, KernelFacts &) {
  FailureOr<tile::EmbedDesc> d = tile::describeEmbed(kernel);
  if (failed(d))
    return failure();
  if (d->table.getLayout() != qfmt::Layout::N16)
    return kernel.emitError() << "CPU embed kernels read layout n16";
  EmbedSpec s;
  s.n = d->table.getRows();
  s.k = d->table.getCols();
  s.scheme = d->table.getScheme();
  s.scale = d->scale;
  if (std::string why = refuseEmbed(s); !why.empty())
    return kernel.emitError() << "kernel '" << kernel.getSymName() << "': " << why;
  if (d->out.rowsSlot != 0 || d->out.actSlot >= 0 || d->tableWeight != 0 ||
      d->out.rowsStride != roundUp(s.k, 16))
    return kernel.emitError() << "kernel '" << kernel.getSymName()
                              << "': operands in an order no embed kernel has";
  emitEmbed(k, s);
  return success();
}

void ingot::cpu::answerEmbed(const KernelQuery &q, const target::Target &t, KernelAnswer &answer) {
  EmbedSpec s;
  s.n = q.n;
  s.k = q.k;
  std::optional<qfmt::Scheme> scheme = qfmt::parseScheme(q.scheme);
  std::string why = scheme ? "" : "unknown scheme " + q.scheme;
  if (scheme) {
    s.scheme = *scheme;
    why = refuseEmbed(s);
  }
  if (!why.empty()) {
    answer.refused.push_back("embed: " + why);
    answer.hint = "--scheme";
    return;
  }
  KernelCandidate c;
  c.layout = "n16";
  c.vector = t.vectorBits / 8;
  c.ops = 64;
  c.cost = double(q.k) * double(q.rows ? q.rows : 512);
  c.reason = "embed by lane gather";
  answer.candidates.push_back(c);
}
