//===- ModuleTables.cpp - planned programs to the tables of ingot_abi.h ----------------------------===//
#include "codegen/cpu/ModuleTables.h"

#include "dialects/KvDtype.h"
#include "dialects/llm/Llm.h"
#include "dialects/rt/Limits.h"
#include "dialects/rt/Rt.h"
#include "dialects/tile/Tile.h"
#include "runtime/abi/ingot_abi.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/xxhash.h"

#include <map>

using namespace mlir;

static_assert(ingot::rt::kMaxSlots == INGOT_MAX_SLOTS && ingot::rt::kMaxWeights == INGOT_MAX_WEIGHTS &&
                  ingot::rt::kKvPage == INGOT_KV_PAGE,
              "rt checks programs against the limits of the ABI");
static_assert(uint32_t(ingot::KvF32) == INGOT_KV_F32 && uint32_t(ingot::KvF16) == INGOT_KV_F16 &&
                  uint32_t(ingot::KvBf16) == INGOT_KV_BF16 && uint32_t(ingot::KvInt8) == INGOT_KV_INT8,
              "types of a cache");
static constexpr bool sameHeadBytes() {
  for (uint32_t dtype : {INGOT_KV_F32, INGOT_KV_F16, INGOT_KV_BF16, INGOT_KV_INT8})
    for (int64_t dim : {1, 24, 64, 128, 256})
      for (int64_t vDim : {2, 24, 80, 128})
        if (ingot::kvHeadBytes(ingot::KvDtypeCode(dtype), dim, vDim) !=
            int64_t(ingot_kv_head_bytes(dtype, uint64_t(dim), uint64_t(vDim))))
          return false;
  return true;
}
static_assert(sameHeadBytes(), "bytes of a page");
static_assert(int(ingot::rt::TapKind::Embed) == INGOT_TAP_EMBED &&
                  int(ingot::rt::TapKind::Layer) == INGOT_TAP_LAYER &&
                  int(ingot::rt::TapKind::Norm) == INGOT_TAP_NORM,
              "tap kinds are those of the ABI");

namespace ingot::cpu {
namespace {

//===--- the ABI's structs
//--------------------------------------------------------------------------------===//

enum class Kind { U16, U32, U64, F64, Ptr };

/// One field; arrays of `count` elements.
struct FieldDesc {
  const char *name;
  Kind kind;
  unsigned count = 1;
};
struct StructDesc {
  const char *name;
  ArrayRef<FieldDesc> fields;
};

unsigned sizeOf(Kind kind) { return kind == Kind::U16 ? 2 : kind == Kind::U32 ? 4 : 8; }

const FieldDesc kKernel[] = {
    {"struct_size", Kind::U32}, {"scratch_bytes", Kind::U32}, {"name", Kind::Ptr},     {"family", Kind::Ptr},
    {"fn", Kind::Ptr},          {"max_parts", Kind::U32},     {"reserved0", Kind::U32}};
const FieldDesc kLaunch[] = {{"kernel", Kind::U32},
                             {"stage", Kind::U32},
                             {"flags", Kind::U32},
                             {"layer", Kind::U32},
                             {"kv_layer", Kind::U32},
                             {"n_slots", Kind::U16},
                             {"n_weights", Kind::U16},
                             {"slot", Kind::U64, INGOT_MAX_SLOTS},
                             {"weight", Kind::U64, INGOT_MAX_WEIGHTS}};
const FieldDesc kTap[] = {{"kind", Kind::U32},  {"layer", Kind::U32},  {"stage", Kind::U32},
                          {"width", Kind::U32}, {"stride", Kind::U32}, {"reserved0", Kind::U32},
                          {"slot", Kind::U64}};
const FieldDesc kProgram[] = {
    {"struct_size", Kind::U32},   {"m_class", Kind::U32},       {"min_rows", Kind::U32},
    {"max_rows", Kind::U32},      {"n_stages", Kind::U32},      {"n_launches", Kind::U32},
    {"n_taps", Kind::U32},        {"logits_stride", Kind::U32}, {"arena_bytes", Kind::U64},
    {"private_bytes", Kind::U64}, {"logits_slot", Kind::U64},   {"launches", Kind::Ptr},
    {"taps", Kind::Ptr},          {"max_out", Kind::U32},       {"argmax_panels", Kind::U32}};
const FieldDesc kParam[] = {{"name", Kind::Ptr}, {"scheme", Kind::Ptr}, {"layout", Kind::Ptr},
                            {"rows", Kind::U64}, {"cols", Kind::U64},   {"offset", Kind::U64},
                            {"bytes", Kind::U64}};
const FieldDesc kKvLayer[] = {{"heads", Kind::U32},     {"dim", Kind::U32},    {"v_dim", Kind::U32},
                              {"dtype", Kind::U32},     {"window", Kind::U32}, {"reserved0", Kind::U32},
                              {"page_bytes", Kind::U64}};
const FieldDesc kRope[] = {
    {"pairs", Kind::U32}, {"reserved0", Kind::U32}, {"scale", Kind::F64}, {"inv_freq", Kind::Ptr}};
const FieldDesc kModule[] = {
    {"struct_size", Kind::U32},  {"abi_version", Kind::U32}, {"isa", Kind::Ptr},
    {"features", Kind::Ptr},     {"build", Kind::Ptr},       {"weight_hash", Kind::U64},
    {"weight_bytes", Kind::U64}, {"vocab", Kind::U32},       {"hidden", Kind::U32},
    {"layers", Kind::U32},       {"context", Kind::U32},     {"max_seqs", Kind::U32},
    {"n_kernels", Kind::U32},    {"n_programs", Kind::U32},  {"n_params", Kind::U32},
    {"n_kv_layers", Kind::U32},  {"n_ropes", Kind::U32},     {"kernels", Kind::Ptr},
    {"programs", Kind::Ptr},     {"params", Kind::Ptr},      {"kv_layers", Kind::Ptr},
    {"ropes", Kind::Ptr}};

const StructDesc kStructs[] = {{"ingot_kernel_v1", kKernel}, {"ingot_launch_v1", kLaunch},
                               {"ingot_tap_v1", kTap},       {"ingot_program_v1", kProgram},
                               {"ingot_param_v1", kParam},   {"ingot_kv_layer_v1", kKvLayer},
                               {"ingot_rope_v1", kRope},     {"ingot_module_v1", kModule}};

//===--- values
//-------------------------------------------------------------------------------------------===//

/// An integer or double, or the address of a global (empty: null).
struct Val {
  uint64_t bits = 0;
  StringRef symbol;
  bool fits = true;

  static Val u32(int64_t v) { return {uint64_t(v), {}, v >= 0 && v <= int64_t(UINT32_MAX)}; }
  static Val i32(int64_t v) { return {uint64_t(uint32_t(int32_t(v))), {}, v >= INT32_MIN && v <= INT32_MAX}; }
  static Val u64(uint64_t v) { return {v, {}, true}; }
  static Val f64(double v) { return {llvm::bit_cast<uint64_t>(v), {}, true}; }
  static Val ptr(StringRef symbol) { return {0, symbol, true}; }
};

/// Rows of one table. Array fields take `count` values.
using Row = SmallVector<Val>;

class Tables {
public:
  Tables(ModuleOp planned, ModuleOp into, const llvm::StringMap<KernelFacts> &facts,
         const target::Target &target, StringRef isa, StringRef build)
      : planned(planned), into(into), facts(facts), target(target), isa(isa), build(build),
        b(into.getContext()), symbols(planned) {
    into.getContext()->loadDialect<LLVM::LLVMDialect>();
    b.setInsertionPointToEnd(into.getBody());
    loc = planned.getLoc();
    ptr = LLVM::LLVMPointerType::get(b.getContext());
  }

  LogicalResult run() {
    auto facts = planned.getOps<rt::ModuleOp>();
    if (facts.empty() || (*facts.begin()).getWeightBytes() < 0)
      return planned.emitError() << "tables need a planned module: run rt-plan-memory";
    rt::ModuleOp module = *facts.begin();
    if (module.getIsa() != isa)
      return module.emitOpError() << "is planned for " << module.getIsa() << ", not for " << isa;

    std::string hashed;
    if (failed(kernels()) || failed(params(hashed)) || failed(kvLayers()) || failed(ropes()) ||
        failed(programs()))
      return failure();
    Row row{Val::u32(sizeof(ingot_module_v1)),
            Val::u32(INGOT_ABI_VERSION),
            text(isa),
            text(target.required),
            text(build),
            Val::u64(llvm::xxHash64(hashed)),
            Val::u64(module.getWeightBytes()),
            Val::u32(module.getVocab()),
            Val::u32(module.getHidden()),
            Val::u32(module.getLayers()),
            Val::u32(module.getPositions()),
            Val::u32(module.getMaxSeqs()),
            Val::u32(kernelIndex.size()),
            Val::u32(nPrograms),
            Val::u32(weightOffset.size()),
            Val::u32(nKv),
            Val::u32(nRopes),
            Val::ptr("ingot.kernels"),
            Val::ptr("ingot.programs"),
            Val::ptr(weightOffset.empty() ? "" : "ingot.params"),
            Val::ptr(nKv ? "ingot.kv_layers" : ""),
            Val::ptr(nRopes ? "ingot.ropes" : "")};
    if (failed(table("ingot.module", kModule, {row})))
      return failure();
    return query();
  }

private:
  LogicalResult kernels() {
    SmallVector<Row> rows;
    for (auto kernel : planned.getOps<tile::KernelOp>()) {
      StringRef name = kernel.getSymName();
      if (!into.lookupSymbol<LLVM::LLVMFuncOp>(name))
        return kernel.emitOpError() << "has no emitted function";
      auto known = facts.find(name);
      if (known == facts.end())
        return kernel.emitOpError() << "has no facts";
      kernelIndex[name.str()] = rows.size();
      rows.push_back({Val::u32(sizeof(ingot_kernel_v1)), Val::u32(known->second.scratchBytes), text(name),
                      text(tile::stringifyFamily(kernel.getFamily())), Val::ptr(name),
                      Val::u32(known->second.maxParts), Val::u32(0)});
    }
    return table("ingot.kernels", kKernel, rows);
  }

  LogicalResult params(std::string &hashed) {
    SmallVector<Row> rows;
    auto word = [&](uint64_t value) {
      for (int i = 0; i < 8; ++i)
        hashed.push_back(char(value >> (8 * i)));
    };
    auto string = [&](StringRef s) {
      hashed.append(s.data(), s.size());
      hashed.push_back('\0');
    };
    for (auto weight : planned.getOps<rt::WeightOp>()) {
      auto param = symbols.lookup<llm::ParamOp>(weight.getParam());
      if (!param)
        return weight.emitOpError() << "no llm.param " << weight.getParamAttr();
      qfmt::PackedType type = param.packedType();
      weightOffset[weight.getParam().str()] = weight.getOffset();
      string(param.getSymName());
      string(qfmt::schemeName(type.getScheme()));
      string(qfmt::layoutName(type.getLayout()));
      word(type.getRows());
      word(type.getCols());
      word(weight.getOffset());
      word(weight.getBytes());
      rows.push_back({text(param.getSymName()), text(qfmt::schemeName(type.getScheme())),
                      text(qfmt::layoutName(type.getLayout())), Val::u64(type.getRows()),
                      Val::u64(type.getCols()), Val::u64(weight.getOffset()), Val::u64(weight.getBytes())});
    }
    return table("ingot.params", kParam, rows);
  }

  LogicalResult kvLayers() {
    SmallVector<Row> rows;
    for (auto layer : planned.getOps<rt::KvLayerOp>()) {
      int64_t dtype = *ingot::kvDtypeCode(layer.getDtype());
      rows.push_back({Val::u32(layer.getHeads()), Val::u32(layer.getDim()), Val::u32(layer.getVDim()),
                      Val::u32(dtype), Val::u32(layer.getWindow()), Val::u32(0),
                      Val::u64(layer.getPageBytes())});
    }
    nKv = rows.size();
    return table("ingot.kv_layers", kKvLayer, rows);
  }

  LogicalResult ropes() {
    SmallVector<Row> rows;
    for (auto rope : planned.getOps<rt::RopeOp>()) {
      std::string name = ("ingot.inv_freq." + Twine(rows.size())).str();
      SmallVector<uint64_t> bits;
      for (double f : rope.getInvFreq())
        bits.push_back(llvm::bit_cast<uint64_t>(f));
      words(name, bits);
      rows.push_back({Val::u32(bits.size()), Val::u32(0), Val::f64(rope.getScale().convertToDouble()),
                      Val::ptr(keep(name))});
    }
    nRopes = rows.size();
    return table("ingot.ropes", kRope, rows);
  }

  FailureOr<uint64_t> slot(Value value) {
    auto buffer = value.getDefiningOp<rt::BufferOp>();
    if (buffer.getOffset() < 0)
      return buffer.emitOpError() << "is not planned";
    return uint64_t(buffer.getOffset()) | (buffer.getSpace() == rt::Space::Private ? INGOT_SLOT_PRIVATE : 0);
  }

  LogicalResult programs() {
    SmallVector<Row> rows;
    for (auto program : planned.getOps<rt::ProgramOp>()) {
      SmallVector<Row> launches, taps;
      SmallVector<rt::StageOp> stages = rt::stagesOf(program);
      for (rt::StageOp stage : stages)
        for (Operation &op : stage.block()) {
          if (auto launch = dyn_cast<rt::LaunchOp>(op)) {
            Row row;
            if (failed(fill(launch, stage.getIndex(), row)))
              return failure();
            launches.push_back(std::move(row));
          } else if (auto tap = dyn_cast<rt::TapOp>(op)) {
            FailureOr<uint64_t> at = slot(tap.getSlot());
            if (failed(at))
              return failure();
            taps.push_back({Val::u32(int64_t(tap.getKind())), Val::u32(tap.getLayer()),
                            Val::u32(stage.getIndex()), Val::u32(tap.getWidth()), Val::u32(tap.getStride()),
                            Val::u32(0), Val::u64(*at)});
          }
        }
      std::string suffix = std::to_string(program.getMClass());
      StringRef launchName = keep("ingot.launches.m" + suffix), tapName = keep("ingot.taps.m" + suffix);
      rt::LogitsOp logits = program.logits();
      FailureOr<uint64_t> at = slot(logits.getSlot());
      if (failed(at) || failed(table(launchName, kLaunch, launches)) || failed(table(tapName, kTap, taps)))
        return failure();
      rows.push_back({Val::u32(sizeof(ingot_program_v1)), Val::u32(program.getMClass()),
                      Val::u32(program.getMinRows()), Val::u32(program.getMaxRows()), Val::u32(stages.size()),
                      Val::u32(launches.size()), Val::u32(taps.size()), Val::u32(logits.getStride()),
                      Val::u64(program.getArenaBytes()), Val::u64(program.getPrivateBytes()), Val::u64(*at),
                      Val::ptr(launches.empty() ? "" : launchName), Val::ptr(taps.empty() ? "" : tapName),
                      Val::u32(program.getMaxOut()), Val::u32(logits.getArgmaxPanels())});
    }
    nPrograms = rows.size();
    return table("ingot.programs", kProgram, rows);
  }

  LogicalResult fill(rt::LaunchOp launch, int64_t stage, Row &row) {
    auto kernel = kernelIndex.find(launch.getKernel().str());
    if (kernel == kernelIndex.end())
      return launch.emitOpError() << "no kernel " << launch.getKernelAttr();
    size_t slots = launch.getSlots().size(), weights = launch.getWeights().size();
    if (slots > INGOT_MAX_SLOTS || weights > INGOT_MAX_WEIGHTS)
      return launch.emitOpError() << "has too many slots or weights for the ABI";
    row = {Val::u32(kernel->second),
           Val::u32(stage),
           Val::u32(launch.getReplicated() ? INGOT_LAUNCH_REPLICATED : 0),
           Val::u32(launch.getLayer()),
           Val::i32(launch.getKvLayer()),
           Val::u32(slots),
           Val::u32(weights)};
    for (size_t i = 0; i < INGOT_MAX_SLOTS; ++i) {
      FailureOr<uint64_t> at = i < slots ? slot(launch.getSlots()[i]) : FailureOr<uint64_t>(uint64_t(0));
      if (failed(at))
        return failure();
      row.push_back(Val::u64(*at));
    }
    for (size_t i = 0; i < INGOT_MAX_WEIGHTS; ++i) {
      int64_t at = 0;
      if (i < weights) {
        auto it = weightOffset.find(cast<FlatSymbolRefAttr>(launch.getWeights()[i]).getValue().str());
        if (it == weightOffset.end())
          return launch.emitOpError() << "weight " << launch.getWeights()[i] << " has no rt.weight";
        at = it->second;
      }
      row.push_back(Val::u64(at));
    }
    return success();
  }

  //===--- globals
  //----------------------------------------------------------------------------------------===//

  StringRef keep(const std::string &name) { return kept.insert(name).first->getKey(); }

  LLVM::GlobalOp global(StringRef name, Type type, Attribute value) {
    auto g = LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, name, value,
                                    /*alignment=*/8);
    g.setDsoLocal(true);
    return g;
  }

  /// Address of a zero-terminated string; equal strings are one global.
  Val text(StringRef s) {
    auto [it, fresh] = strings.try_emplace(s.str(), "");
    if (fresh) {
      it->second = ("ingot.str." + Twine(strings.size())).str();
      std::string bytes = s.str();
      bytes.push_back('\0');
      global(it->second, LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size()), b.getStringAttr(bytes));
    }
    return Val::ptr(it->second);
  }

  void words(StringRef name, ArrayRef<uint64_t> bits) {
    auto type = RankedTensorType::get({int64_t(bits.size())}, b.getI64Type());
    global(name, LLVM::LLVMArrayType::get(b.getI64Type(), bits.size()),
           DenseIntElementsAttr::get(type, bits));
  }

  Type typeOf(Kind kind) {
    switch (kind) {
    case Kind::U16:
      return b.getI16Type();
    case Kind::U32:
      return b.getI32Type();
    case Kind::U64:
      return b.getI64Type();
    case Kind::F64:
      return b.getF64Type();
    case Kind::Ptr:
      return ptr;
    }
    return {};
  }

  /// A table without pointers is plain data; one with pointers is built field by field.
  LogicalResult table(StringRef name, ArrayRef<FieldDesc> fields, ArrayRef<Row> rows) {
    if (rows.empty())
      return success();
    for (const Row &row : rows)
      for (const Val &v : row)
        if (!v.fits)
          return planned.emitError() << "a value of table " << name << " does not fit its field";
    if (llvm::none_of(fields, [](const FieldDesc &f) { return f.kind == Kind::Ptr; })) {
      plain(name, fields, rows);
      return success();
    }
    SmallVector<Type> types;
    for (const FieldDesc &f : fields) {
      assert(f.count == 1 && "tables with pointers have no array fields");
      types.push_back(typeOf(f.kind));
    }
    Type record = LLVM::LLVMStructType::getLiteral(b.getContext(), types);
    Type array = LLVM::LLVMArrayType::get(record, rows.size());
    LLVM::GlobalOp g = global(name, array, {});
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&g.getInitializerRegion());
    Value all = LLVM::UndefOp::create(b, loc, array);
    for (auto [i, row] : llvm::enumerate(rows)) {
      assert(row.size() == fields.size() && "one value a field");
      Value one = LLVM::UndefOp::create(b, loc, record);
      for (auto [k, v] : llvm::enumerate(row))
        one = LLVM::InsertValueOp::create(b, loc, one, constant(fields[k].kind, v), k);
      all = LLVM::InsertValueOp::create(b, loc, all, one, i);
    }
    LLVM::ReturnOp::create(b, loc, all);
    return success();
  }

  Value constant(Kind kind, const Val &v) {
    if (kind == Kind::Ptr) {
      if (v.symbol.empty())
        return LLVM::ZeroOp::create(b, loc, ptr);
      return LLVM::AddressOfOp::create(b, loc, ptr, v.symbol);
    }
    if (kind == Kind::F64)
      return LLVM::ConstantOp::create(b, loc, b.getF64Type(),
                                      b.getF64FloatAttr(llvm::bit_cast<double>(v.bits)));
    Type type = typeOf(kind);
    return LLVM::ConstantOp::create(b, loc, type,
                                    b.getIntegerAttr(type, APInt(type.getIntOrFloatBitWidth(), v.bits)));
  }

  /// Little-endian bytes in natural alignment, as 64-bit words: every such struct is a multiple of 8 bytes.
  void plain(StringRef name, ArrayRef<FieldDesc> fields, ArrayRef<Row> rows) {
    std::vector<uint8_t> bytes;
    for (const Row &row : rows) {
      size_t next = 0;
      for (const FieldDesc &f : fields)
        for (unsigned i = 0; i < f.count; ++i, ++next) {
          assert(next < row.size() && "one value a field");
          unsigned size = sizeOf(f.kind);
          while (bytes.size() % size)
            bytes.push_back(0);
          for (unsigned k = 0; k < size; ++k)
            bytes.push_back(uint8_t(row[next].bits >> (8 * k)));
        }
      assert(next == row.size() && bytes.size() % 8 == 0 && "a struct ends on 8 bytes");
    }
    SmallVector<uint64_t> bits(bytes.size() / 8);
    for (size_t i = 0; i < bytes.size(); ++i)
      bits[i / 8] |= uint64_t(bytes[i]) << (8 * (i % 8));
    words(name, bits);
  }

  /// `const ingot_module_v1 *ingot_module_query_<isa>(uint32_t max_version)`.
  LogicalResult query() {
    auto type = LLVM::LLVMFunctionType::get(ptr, {b.getI32Type()});
    auto func = LLVM::LLVMFuncOp::create(b, loc, ("ingot_module_query_" + isa).str(), type);
    OpBuilder::InsertionGuard guard(b);
    Block *entry = func.addEntryBlock(b);
    b.setInsertionPointToStart(entry);
    Value version = LLVM::ConstantOp::create(b, loc, b.getI32Type(), b.getI32IntegerAttr(INGOT_ABI_VERSION));
    Value old = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ult, entry->getArgument(0), version);
    Value null = LLVM::ZeroOp::create(b, loc, ptr);
    Value module = LLVM::AddressOfOp::create(b, loc, ptr, "ingot.module");
    Value result = LLVM::SelectOp::create(b, loc, old, null, module);
    LLVM::ReturnOp::create(b, loc, result);
    return success();
  }

  ModuleOp planned, into;
  const llvm::StringMap<KernelFacts> &facts;
  const target::Target &target;
  StringRef isa, build;
  OpBuilder b;
  SymbolTable symbols;
  Location loc = UnknownLoc::get(b.getContext());
  Type ptr;
  std::map<std::string, int64_t> kernelIndex, weightOffset;
  std::map<std::string, std::string> strings;
  llvm::StringSet<> kept;
  int64_t nPrograms = 0, nKv = 0, nRopes = 0;
};

} // namespace

LogicalResult emitModuleTables(ModuleOp planned, ModuleOp into, const llvm::StringMap<KernelFacts> &facts,
                               const target::Target &target, StringRef isa, StringRef build) {
  return Tables(planned, into, facts, target, isa, build).run();
}

void printAbiLayout(llvm::raw_ostream &os) {
  for (const StructDesc &s : kStructs) {
    unsigned at = 0;
    for (const FieldDesc &f : s.fields) {
      unsigned size = sizeOf(f.kind);
      at = (at + size - 1) / size * size;
      os << s.name << " " << f.name << " " << at << "\n";
      at += size * f.count;
    }
    os << s.name << " sizeof " << (at + 7) / 8 * 8 << "\n";
  }
}

} // namespace ingot::cpu
