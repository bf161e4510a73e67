//===- Explain.cpp - kernels and programs of a variant, as META tells them ------------------------------===//

#include "compiler/pipeline/Explain.h"

#include "dialects/KvDtype.h"
#include "dialects/rt/Rt.h"
#include "dialects/tile/Describe.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
namespace json = llvm::json;

namespace ingot::pipeline {
namespace {

std::string printed(mlir::Attribute attribute) {
  std::string result;
  raw_string_ostream stream(result);
  attribute.print(stream);
  return result;
}

/// Of all heads of one token, scales included.
int64_t kvTokenBytes(tile::KvAttr kv) {
  return kvPageBytes(kv.getDtype(), kv.getHeads(), kv.getDim(), kv.getVDim()) / 16;
}

/// Activation bytes that one row of a launch reads and writes; slots of attention states are left out, their
/// size depends on the cache.
int64_t rowBytes(tile::KernelOp kernel) {
  constexpr int64_t rows = 64; // Whole blocks of every activation layout.
  int64_t bytes = 0;
  for (mlir::BlockArgument slot : kernel.getSlots())
    if (!isa<tile::PartialsType>(slot.getType()))
      bytes += tile::slotBytes(slot.getType(), rows).value_or(0) / rows;
  if (kernel.writesKv())
    if (tile::KvAttr kv = kernel.getKv())
      bytes += kvTokenBytes(kv);
  return bytes;
}

/// What a launch computes and reads. Operations are those of dot products alone, a multiplication and an
/// addition each: everything else is small beside them or bound by bytes.
void describeWork(tile::KernelOp kernel, json::Object &object) {
  for (mlir::BlockArgument weight : kernel.getWeights()) {
    auto type = cast<qfmt::PackedType>(weight.getType());
    if (type.isVector())
      continue;
    object["n"] = type.getRows();
    object["k"] = type.getCols();
    object["scheme"] = qfmt::schemeName(type.getScheme());
    object["layout"] = qfmt::layoutName(type.getLayout());
    object["weight_bytes"] = type.packedBytes();
    if (kernel.getFamily() == tile::Family::Linear)
      object["flops_per_row"] = 2 * type.getRows() * type.getCols();
  }
  object["domain"] = tile::stringifyDomain(kernel.getDomain()).str();
  object["row_bytes"] = rowBytes(kernel);
  tile::GridOp grid = kernel.getGrid();
  object["grid"] =
      json::Object{{"unit", tile::stringifyGridUnit(grid.getUnit()).str()}, {"count", grid.getCount()}};
  if (kernel.getFamily() == tile::Family::Linear)
    if (auto linear = tile::describeLinear(kernel); mlir::succeeded(linear))
      object["dot"] = linear->act ? "int8" : tile::roundsActivations(linear->kind) ? "bf16" : "f32";
  if (kernel.getFamily() == tile::Family::Attention || kernel.getFamily() == tile::Family::AttnSplit)
    if (auto attention = tile::describeAttention(kernel); mlir::succeeded(attention)) {
      tile::KvAttr kv = attention->kv;
      object["attention"] =
          json::Object{{"window", attention->window},
                       {"flops_per_key", 2 * attention->qHeads * (kv.getDim() + kv.getVDim())},
                       {"kv_bytes_per_key", kvTokenBytes(kv)}};
    }
  json::Array fusions;
  kernel.getBody().walk([&](mlir::Operation *op) {
    StringRef name = op->getName().stripDialect();
    if (!isa<tile::GridOp, tile::LoadOp, tile::StoreOp>(op))
      fusions.push_back(name.str());
  });
  object["body"] = std::move(fusions);
}

/// The launches of one stage, comparable: layers repeat the same stages with other weights.
using StageKernels = SmallVector<std::pair<StringRef, bool>>;

json::Array stageJson(const StageKernels &stage) {
  json::Array launches;
  for (const auto &[kernel, replicated] : stage) {
    json::Object launch{{"kernel", kernel.str()}};
    if (replicated)
      launch["replicated"] = true;
    launches.push_back(std::move(launch));
  }
  return launches;
}

/// Stages in order, with those that repeat written once: at each place the period that covers most.
json::Array planJson(ArrayRef<StageKernels> stages) {
  constexpr size_t longest = 64;
  json::Array plan;
  for (size_t at = 0; at < stages.size();) {
    size_t period = 1, repeat = 1;
    for (size_t p = 1; p <= std::min(longest, (stages.size() - at) / 2); ++p) {
      size_t end = at + p;
      while (end < stages.size() && stages[end] == stages[end - p])
        ++end;
      size_t times = (end - at) / p;
      if (times > 1 && times * p > period * repeat) {
        period = p;
        repeat = times;
      }
    }
    json::Array run;
    for (size_t s = 0; s < period; ++s)
      run.push_back(stageJson(stages[at + s]));
    plan.push_back(json::Object{{"repeat", static_cast<int64_t>(repeat)}, {"stages", std::move(run)}});
    at += period * repeat;
  }
  return plan;
}

struct Use {
  json::Array programs;
  int64_t launches = 0;
  std::string firstParam;
};

json::Object programJson(rt::ProgramOp program, MapVector<StringRef, Use> &uses) {
  int64_t launches = 0;
  SmallVector<StageKernels> stages;
  MapVector<StringRef, bool> seen;
  for (rt::StageOp stage : rt::stagesOf(program)) {
    StageKernels kernels;
    for (auto launch : stage.block().getOps<rt::LaunchOp>()) {
      Use &use = uses[launch.getKernel()];
      ++use.launches;
      ++launches;
      if (!launch.getWeights().empty() && use.firstParam.empty())
        use.firstParam = cast<mlir::FlatSymbolRefAttr>(launch.getWeights()[0]).getValue().str();
      if (seen.insert({launch.getKernel(), true}).second)
        use.programs.push_back(program.getMClass());
      kernels.push_back({launch.getKernel(), launch.getReplicated()});
    }
    stages.push_back(std::move(kernels));
  }
  return json::Object{{"m_class", program.getMClass()},
                      {"min_rows", program.getMinRows()},
                      {"max_rows", program.getMaxRows()},
                      {"stages", static_cast<int64_t>(stages.size())},
                      {"launches", launches},
                      {"arena_bytes", program.getArenaBytes()},
                      {"private_bytes", program.getPrivateBytes()},
                      {"plan", planJson(stages)}};
}

json::Object kernelJson(tile::KernelOp kernel, Use &use, const StringMap<uint64_t> &codeBytes) {
  json::Object object{{"name", kernel.getSymName().str()},
                      {"family", tile::stringifyFamily(kernel.getFamily()).str()},
                      {"rows", kernel.getRows()},
                      {"launches", use.launches},
                      {"programs", std::move(use.programs)}};
  if (!use.firstParam.empty())
    object["example"] = use.firstParam;
  if (kernel.getSchedule())
    object["schedule"] = printed(*kernel.getSchedule());
  if (kernel.getReason())
    object["reason"] = kernel.getReason()->str();
  if (kernel.getRefused()) {
    json::Array refused;
    mlir::ArrayAttr list = *kernel.getRefused();
    for (mlir::Attribute one : list)
      refused.push_back(cast<mlir::StringAttr>(one).getValue().str());
    object["refused"] = std::move(refused);
  }
  describeWork(kernel, object);
  if (auto code = codeBytes.find(kernel.getSymName()); code != codeBytes.end())
    object["code_bytes"] = static_cast<int64_t>(code->second);
  return object;
}

} // namespace

json::Object explainVariant(const VariantModule &variant) {
  mlir::ModuleOp module = variant.module;
  MapVector<StringRef, Use> uses;
  json::Array programs, kernels;
  for (auto program : module.getOps<rt::ProgramOp>())
    programs.push_back(programJson(program, uses));
  for (auto kernel : module.getOps<tile::KernelOp>())
    kernels.push_back(kernelJson(kernel, uses[kernel.getSymName()], variant.codeBytes));
  return json::Object{{"isa", variant.isa},
                      {"object_bytes", static_cast<int64_t>(variant.objectBytes)},
                      {"programs", std::move(programs)},
                      {"kernels", std::move(kernels)}};
}

} // namespace ingot::pipeline
