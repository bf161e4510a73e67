//===- Linear.cpp - legality, schedules and epilogues of the linear family ------------------------===//
#include "codegen/cpu/Linear.h"
#include "codegen/cpu/LinearAmxBf16.h"
#include "codegen/cpu/Math.h"
#include "codegen/cpu/spec/Quantize.h"
#include "runtime/abi/ingot_abi.h"

#include <algorithm>
#include <cstddef>

using namespace ingot;
using namespace ingot::cpu;

int64_t ingot::cpu::codeOffset(qfmt::Scheme s) {
  switch (s) {
  case qfmt::Scheme::Q4_0:
    return 8;
  case qfmt::Scheme::Q5_0:
    return 16;
  case qfmt::Scheme::Q6_K:
    return 32;
  case qfmt::Scheme::Q8_0:
    return 128;
  default:
    return 0;
  }
}

int ingot::cpu::codeBits(qfmt::Scheme s) {
  switch (s) {
  case qfmt::Scheme::Q4_0:
  case qfmt::Scheme::Q4_1:
  case qfmt::Scheme::Q4_K:
    return 4;
  case qfmt::Scheme::Q5_0:
  case qfmt::Scheme::Q5_1:
  case qfmt::Scheme::Q5_K:
    return 5;
  case qfmt::Scheme::Q6_K:
    return 6;
  default:
    return 8;
  }
}

/// What `ingot tune` found for 16-bit weights in real steps of 512-bit targets (two EPYC cores; K of 576 to
/// 3072): the processor fetches few long streams by itself better than the kernel asks for them.
static void adjustHalfWeights(const LinearSpec &s, LinearSchedule &r) {
  if (s.rows <= 2 && s.rows > 0 && s.k >= 1024) {
    r.prefetch = 0;
  } else if (s.rows == 1) {
    r.panels = 1; // short panels: one after the other is one long stream
    r.prefetch = 0;
  } else if (s.rows == 8) {
    r.rows = s.gate ? 4 : 8;
    r.panels = s.gate ? 4 : 1;
  }
}

LinearSchedule ingot::cpu::chooseLinearSchedule(const LinearSpec &s, const target::Target &t) {
  LinearSchedule r;
  bool wide = t.hasAvx512();
  int64_t rows = s.rows;
  if (qfmt::geometry(s.scheme).isFloat) {
    r.dot = DotKind::Fma;
    r.unroll = s.k % 4 == 0 ? 4 : 1;
    // Accumulators: 24 of 32 zmm, or (two ymm each) 6 of 8 pairs. One row needs four chains to hide the
    // latency.
    r.rows = rows == 0 ? (floatInBlocks(s, t) && wide ? 12 : 6) : rows == 8 && !wide ? 4 : rows;
    r.panels = wide ? (r.rows <= 6 ? 4 : 2) : (r.rows == 1 ? 4 : r.rows == 2 ? 2 : 1);
    if (!wide && s.gate && r.rows > 2)
      r.rows = rows == 0 ? 3 : 2;
    r.prefetch = 4096;
    // Dots of rounded activations keep what they were measured with.
    bool isRounded = s.fast && s.scheme == qfmt::Scheme::BF16 && t.hasBf16Dot();
    if (wide && s.scheme != qfmt::Scheme::F32 && !isRounded)
      adjustHalfWeights(s, r);
    if (rows == 0) // the chunk's activations stay in L2 while the panels pass
      r.chunk = floatInBlocks(s, t)
                    ? std::clamp<int64_t>(393216 / (s.inStrideBytes() * r.rows), 2, 16) * r.rows
                    : 96;
    return r;
  }
  r.dot = t.hasVnni() ? DotKind::Vnni : DotKind::Maddubs;
  r.lanes = wide ? 16 : 8;
  int64_t block = std::max<int64_t>(s.block, 1);
  r.rows = block;
  if (!wide) // 16 registers: the sign trick of 8-bit codes needs one row less
    r.rows = codeBits(s.scheme) == 8 && block % 3 == 0 ? 3
             : block % 4 == 0                          ? 4
             : block <= 4                              ? block
             : block % 3 == 0                          ? 3
             : block % 2 == 0                          ? 2
                                                       : 1;
  else if (block > 12)
    r.rows = block % 12 == 0 ? 12 : block % 8 == 0 ? 8 : block % 4 == 0 ? 4 : block % 2 == 0 ? 2 : 1;
  // Measured (`ingot bench`, two EPYC cores): the processor follows the one stream of a panel by itself, and
  // up to two rows only wants to be kept going by near requests. With more rows (in the chunk class: of the
  // first block that meets the weights) the arithmetic stops the stream again and again: farther requests,
  // from eight rows on into L2, bridge that.
  r.prefetch = rows == 1 || rows == 2 ? 512 : rows == 4 ? 4096 : 65536;
  if (rows == 0) {
    // A chunk of activations of up to 512 KB stays in L2 while the panels pass: large weights are read from
    // memory few times.
    int64_t blocks = std::max<int64_t>(1, 524288 / std::max<int64_t>(1, block * (s.k + s.k / 4)));
    r.chunk = blocks * block;
  }
  return r;
}

/// Why a dot of bf16 pairs cannot be had, empty where it can.
static std::string refuseBf16Dot(const LinearSpec &s, const target::Target &t) {
  if (!s.fast)
    return "bf16 dots round the activations: --numerics=fast allows it";
  if (!t.hasBf16Dot())
    return "target " + t.name.str() + " has no AVX512-BF16";
  if (s.scheme != qfmt::Scheme::BF16)
    return "only bf16 weights are multiplied by bf16 dots";
  return s.k % 2 == 0 && s.schedule.unroll % 2 == 0 ? "" : "bf16 dots take pairs of columns";
}

std::string ingot::cpu::refuseLinear(const LinearSpec &s, const target::Target &t) {
  const qfmt::SchemeGeometry &g = qfmt::geometry(s.scheme);
  std::string name = g.name;
  if (s.argmax && (s.gate || s.residual || s.ropeKv || s.domain != RowDomain::Out))
    return "argmax ends the kernel of a head";
  if (s.n < 1 || s.k < 1)
    return "a matrix without rows or columns";
  if (!qfmt::panelSize(s.scheme, s.k))
    return name + " needs K to be a multiple of " + std::to_string(g.blockElems);
  if (s.gate && (s.n % 32 != 0))
    return "a gate needs pairs of panels: N % 32 == 0";
  if (s.ropeKv) {
    const RopeKvSpec &r = *s.ropeKv;
    if (std::string why = refuseHeadUnits(r); !why.empty())
      return why;
    if (s.gate || s.softcap != 0 || s.residual || s.domain != RowDomain::Rows)
      return "rope_kv follows the projection of the step's rows alone";
    if (s.n != r.qHeads * r.headDim + r.kv.heads * (r.headDim + r.kv.vDim))
      return "q, k and v do not fill the product";
  }
  if (g.isFloat) {
    if (s.block != 0)
      return name + " weights take f32 activations";
    if (s.schedule.dot == DotKind::Bf16) {
      if (std::string why = refuseBf16Dot(s, t); !why.empty())
        return why;
    } else if (s.schedule.dot == DotKind::AmxBf16) {
      if (std::string why = refuseAmxBf16(s, t); !why.empty())
        return why;
    } else if (s.schedule.dot != DotKind::Fma) {
      return name + " weights are multiplied by fma only";
    }
    const bool inTiles = s.schedule.dot == DotKind::AmxBf16;
    if (s.schedule.rows < 1 || s.schedule.panels < 1 ||
        (!inTiles && s.schedule.rows * s.schedule.panels > 24))
      return "the register tile has more than 24 accumulators";
    if (s.rows > 0 && s.rows % s.schedule.rows != 0)
      return "the register tile does not divide the M class";
    if (s.schedule.unroll < 1 || s.k % s.schedule.unroll != 0)
      return "the unrolling does not divide K";
    if (s.rows == 0 && (s.schedule.chunk < s.schedule.rows || s.schedule.chunk % s.schedule.rows != 0))
      return "the chunk is no multiple of the register tile";
    return "";
  }
  if (s.block < 1 || s.block > 16)
    return name + " weights take int8 activations in blocks of 1 to 16 rows";
  if (s.schedule.rows < 1 || s.block % s.schedule.rows != 0)
    return "the register tile does not divide the row block";
  if (s.rows == 0 && (s.schedule.chunk < s.block || s.schedule.chunk % s.block != 0))
    return "the chunk is no multiple of the row block";
  if (s.rows > s.block)
    return "an M class needs its rows in one block";
  switch (s.schedule.dot) {
  case DotKind::Fma:
  case DotKind::Bf16:
  case DotKind::AmxBf16:
    return name + " weights have no kernel of float dots";
  case DotKind::Vnni:
    if (!t.hasVnni())
      return "target " + t.name.str() + " has no AVX512-VNNI";
    return s.schedule.lanes == 16 ? "" : "VNNI kernels have 16 lanes";
  case DotKind::Maddubs:
    if (s.schedule.lanes != (t.hasAvx512() ? 16 : 8))
      return "the vector width is not the target's";
    return "";
  case DotKind::Amx:
    if (!t.hasAmx() && !s.amxInSoftware)
      return "target " + t.name.str() + " has no AMX";
    return s.rows == 0 ? "" : "AMX serves the chunk class only";
  }
  return "";
}

int64_t ingot::cpu::linearScratchBytes(const LinearSpec &s) {
  if (qfmt::geometry(s.scheme).isFloat)
    return linearFloatScratchBytes(s);
  if (s.schedule.dot == DotKind::Amx)
    return roundUp(linearAmxScratchBytes(s), 64);
  int64_t rows = s.rows > 0 ? s.block : std::max(s.block, s.schedule.chunk);
  int64_t groups = s.k / 32 * (s.scheme == qfmt::Scheme::Q6_K ? 2 : 1);
  int64_t bytes = codeOffset(s.scheme) ? roundUp(rows, s.block) * groups * 4 : 0;
  return roundUp(bytes, 64);
}

int64_t ingot::cpu::linearOps(const LinearSpec &s) {
  int64_t per = s.gate ? 2 : 1, rows = s.schedule.rows;
  if (s.ropeKv || s.argmax) {
    LinearSpec plain = s;
    plain.ropeKv.reset();
    plain.argmax = false;
    return linearOps(plain) + 64;
  }
  if (qfmt::geometry(s.scheme).isFloat)
    return std::max(per, s.schedule.panels) * rows * s.schedule.unroll * 2 + 16 * rows;
  return per * (rows * 14 + 24) + 16 * rows;
}

double ingot::cpu::linearCost(const LinearSpec &s, const target::Target &t) {
  double rows = s.rows ? double(s.rows) : 512, macs = double(s.n) * double(s.k) * rows;
  // Multiply-accumulates per nanosecond of one core at about 2.6 GHz; then the weights' bytes at 12 bytes a
  // ns.
  // An AMX product of 16 columns (q6_k) costs as much as one of 32: then VNNI is the faster one.
  double rate = 110;
  if (s.schedule.dot == DotKind::Fma)
    rate = 40;
  else if (s.schedule.dot == DotKind::Maddubs)
    rate = 60;
  else if (s.schedule.dot == DotKind::Bf16)
    rate = 80;
  else if (s.schedule.dot == DotKind::AmxBf16)
    rate = 400;
  else if (s.schedule.dot == DotKind::Amx)
    rate = s.scheme == qfmt::Scheme::Q6_K ? 90 : 180;
  if (!t.hasAvx512())
    rate /= 2;
  double bytes = double(qfmt::packedBytes(s.scheme, qfmt::Layout::N16, s.n, s.k).value_or(0));
  return std::max(macs / rate, bytes / 12);
}

int64_t ingot::cpu::linearMaxParts(const LinearSpec &s, const target::Target &t) {
  // What a call computes of its activations first (quantized weights with an offset) is a part of a unit.
  int64_t least = qfmt::geometry(s.scheme).isFloat ? std::max<int64_t>(1, s.schedule.panels / s.unitPanels())
                  : s.rows == 1                    ? 2
                                                   : 4;
  return std::max<int64_t>(1, std::min(s.units() / least, int64_t(linearCost(s, t) / 1000)));
}

void ingot::cpu::emitLinear(KernelBuilder &k, const LinearSpec &spec) {
  assert(refuseLinear(spec, k.target()).empty() && "refuseLinear first");
  if (qfmt::geometry(spec.scheme).isFloat)
    emitLinearFloat(k, spec);
  else if (spec.schedule.dot == DotKind::Amx)
    emitLinearAmx(k, spec);
  else
    emitLinearQuant(k, spec);
}

std::pair<Value, Value> ingot::cpu::shareUnits(KernelBuilder &k, const LinearSpec &spec) {
  // One or two rows cost what their weights cost to read.
  if (!spec.ropeKv || spec.rows == 1 || spec.rows == 2)
    return k.share(k.c64(spec.units()));
  // A column of f32 takes three times as long.
  return shareHeadUnits(k, HeadUnits(*spec.ropeKv),
                        qfmt::geometry(spec.scheme).isFloat ? 3 * spec.k : spec.k);
}

LinearEpilogue::LinearEpilogue(KernelBuilder &k, const LinearSpec &spec) : k(k), spec(spec) {
  unsigned slot = 1;
  w = k.weight(0);
  if (spec.bias)
    biasPtr = k.weight(1);
  if (spec.residual)
    residualPtr = k.slot(slot++);
  out = k.slot(slot);
  if (spec.ropeKv)
    ropeKv.emplace(k, *spec.ropeKv, spec.rows, std::max(spec.rows, spec.schedule.rows), out, biasPtr);
  if (!spec.argmax)
    return;
  // As many rows as tiles compute: those of whole blocks, of an M class, or of the domain.
  Value rows = spec.rows > 0 ? k.c64(spec.block ? spec.block : roundUp(spec.rows, spec.schedule.rows))
                             : domainRows(k, spec.domain);
  if (spec.rows == 0 && spec.block)
    rows = k.mul(k.div(k.add(rows, spec.block - 1), k.c64(spec.block)), spec.block);
  argmax.emplace(k, spec.n, out, rows);
}

void LinearEpilogue::store(const TileResults &results, Value unit, Value row0, Value half) {
  if (ropeKv)
    return ropeKv->store(results, unit, row0);
  int64_t per = spec.gate ? 2 : 1, lanes = spec.schedule.lanes;
  int64_t units = int64_t(results.size()) / per, tileRows = int64_t(results[0].size());
  auto vt = k.f32v(lanes);
  auto bias = [&](Value panel) {
    Value at = k.mul(panel, 64);
    if (half)
      at = k.add(at, k.mul(half, 32));
    return k.loadAt(vt, biasPtr, at, 4 * lanes);
  };
  TileResults ready(argmax ? size_t(units) : 0, {}); // wait for what the step asks for
  for (int64_t u = 0; u < units; ++u) {
    Value item = k.add(unit, u);
    Value b0, b1;
    if (spec.bias) {
      Value panel = k.mul(item, per);
      b0 = bias(panel);
      if (spec.gate)
        b1 = bias(k.add(panel, 1));
    }
    Value column = k.mul(item, 64);
    if (half)
      column = k.add(column, k.mul(half, 32));
    Value at = k.add(k.mul(row0, spec.outStrideBytes()), column);
    for (int64_t r = 0; r < tileRows; ++r) {
      Value y = results[u * per][r];
      if (spec.bias)
        y = k.add(y, b0);
      if (spec.gate) {
        Value up = results[u * per + 1][r];
        y = emitGate(k, *spec.gate, y, spec.bias ? k.add(up, b1) : up);
      }
      if (spec.softcap != 0)
        y = emitSoftcap(k, y, spec.softcap);
      if (argmax) {
        ready[size_t(u)].push_back(y);
        continue;
      }
      Value to = k.add(at, r * spec.outStrideBytes());
      if (spec.residual)
        y = k.add(k.loadAt(vt, residualPtr, to, 4 * lanes), y);
      k.storeAt(y, out, to, 4 * lanes);
    }
  }
  if (!argmax)
    return;
  Value column = k.mul(unit, 16);
  if (half)
    column = k.add(column, k.mul(half, 8));
  auto update = [&] {
    argmax->update(ready, column, row0);
    return KernelBuilder::Values{};
  };
  auto storeAll = [&] {
    Value at = k.add(k.mul(row0, spec.outStrideBytes()), k.mul(column, 4));
    for (int64_t u = 0; u < units; ++u)
      for (int64_t r = 0; r < tileRows; ++r)
        k.storeAt(ready[size_t(u)][size_t(r)], out, k.add(at, r * spec.outStrideBytes() + 64 * u), 4 * lanes);
    return KernelBuilder::Values{};
  };
  k.ifElse(argmax->wanted(), update, storeAll);
}
