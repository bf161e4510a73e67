// Emitted elementary functions and half conversions equal the scalar specification bit for bit.
#include "codegen/cpu/Math.h"
#include "codegen/cpu/Lanes.h"
#include "test/unit/kernels/FloatTestUtil.h"

using namespace ingot;
using namespace ingot::test;
using namespace ingot::cpu;

namespace {

class MathKernels : public testing::TestWithParam<const char *> {};

std::vector<float> inputs() {
  std::vector<float> v{0.0f,     -0.0f,  1.0f,    -1.0f,    INFINITY, -INFINITY, 88.0f,
                       88.1f,    -87.3f, -87.31f, 1e-45f,   -1e-45f,  0x1p-126f, 3.4e38f,
                       -3.4e38f, 1e-30f, 65519.f, 65520.0f, 0x1p-25f, 0x1.8p-25f};
  Random r(7);
  for (int i = 0; i < 200000; ++i)
    v.push_back(r.normal() * std::ldexp(1.0f, int(r.below(24)) - 12));
  for (int i = 0; i < 50000; ++i) {
    float x = spec::floatOf(r.bits());
    if (x == x)
      v.push_back(x);
  }
  while (v.size() % 16)
    v.push_back(0.5f);
  return v;
}

struct Function {
  const char *name;
  Value (*emit)(KernelBuilder &, Value);
  float (*spec)(float);
};

const Function functions[] = {
    {"exp", [](KernelBuilder &k, Value x) { return emitExp(k, x); }, spec::exp},
    {"silu", [](KernelBuilder &k, Value x) { return emitSilu(k, x); }, spec::silu},
    {"gelu", [](KernelBuilder &k, Value x) { return emitGelu(k, x); }, spec::gelu},
    {"gelu_tanh", [](KernelBuilder &k, Value x) { return emitGeluTanh(k, x); }, spec::geluTanh},
    {"tanh", [](KernelBuilder &k, Value x) { return emitTanh(k, x); }, spec::tanh},
    {"softcap", [](KernelBuilder &k, Value x) { return emitSoftcap(k, x, 30.0f); },
     [](float x) { return spec::softcap(x, 30.0f); }},
    {"gate", [](KernelBuilder &k, Value x) { return emitGate(k, spec::GateKind::GeluTanh, x, x); },
     [](float x) { return spec::gate(spec::GateKind::GeluTanh, x, x); }},
    {"f16", [](KernelBuilder &k, Value x) { return k.toF32(k.fromF32(x, k.f16())); },
     [](float x) { return spec::f16ToF32(spec::f32ToF16(x)); }},
    {"bf16", [](KernelBuilder &k, Value x) { return k.toF32(k.fromF32(x, k.bf16())); },
     [](float x) { return spec::bf16ToF32(spec::f32ToBf16(x)); }},
};

} // namespace

TEST_P(MathKernels, EqualTheSpecification) {
  INGOT_NEED_TARGET();
  KernelSet set(tgt);
  std::vector<float> in = inputs();
  for (const Function &f : functions)
    for (bool scalar : {false, true}) {
      KernelBuilder k(set.module(), std::string(f.name) + (scalar ? "_s" : "_v"), tgt);
      Value x = k.slot(0), y = k.slot(1);
      Type type = scalar ? k.f32() : Type(k.f32v());
      k.forLoop(0, int64_t(in.size()) * 4, scalar ? 4 : 64,
                [&](Value at) { k.storeAt(f.emit(k, k.loadAt(type, x, at)), y, at); });
      k.finish();
    }
  ASSERT_EQ(set.build(), "");
  ingot_step_v1 step = makeStep(1);
  ingot_args_v1 args = makeArgs();
  Buffer<float> x(in.size()), y(in.size());
  std::copy(in.begin(), in.end(), x.begin());
  args.slot[0] = x.data();
  args.slot[1] = y.data();
  for (const Function &f : functions) {
    std::vector<float> want(in.size());
    for (size_t i = 0; i < in.size(); ++i)
      want[i] = f.spec(in[i]);
    for (const char *form : {"_v", "_s"}) {
      ASSERT_EQ(set.kernel(std::string(f.name) + form)(&step, &args, 0, 1), 0);
      ptrdiff_t d = firstDifference(y.data(), want.data(), in.size());
      EXPECT_EQ(d, -1) << f.name << form << " x = " << in[d] << " got " << y[d] << " want " << want[d];
    }
  }
}

TEST_P(MathKernels, LanesTouchNothingBeyond) {
  INGOT_NEED_TARGET();
  KernelSet set(tgt);
  for (int n = 1; n <= 16; ++n)
    for (int t = 0; t < 3; ++t) {
      KernelBuilder k(set.module(), "k" + std::to_string(n) + "_" + std::to_string(t), tgt);
      Type stored = t == 0 ? k.f32() : t == 1 ? k.f16() : k.bf16();
      Value v = loadLanes(k, stored, k.slot(0), 0, n);
      k.storeAt(v, k.slot(1), 0);
      storeLanes(k, stored, v, k.slot(2), 0, n);
      k.finish();
    }
  ASSERT_EQ(set.build(), "");
  for (int n = 1; n <= 16; ++n)
    for (int t = 0; t < 3; ++t) {
      size_t bytes = t == 0 ? 4 : 2;
      Buffer<uint8_t> in(64), out(128, 0xab);
      Buffer<float> wide(16);
      for (int i = 0; i < 16; ++i)
        spec::kvStore(in.data(), i, float(i) + 0.5f,
                      t == 0   ? spec::KvType::F32
                      : t == 1 ? spec::KvType::F16
                               : spec::KvType::Bf16);
      ingot_step_v1 step = makeStep(1);
      ingot_args_v1 args = makeArgs();
      args.slot[0] = in.data();
      args.slot[1] = wide.data();
      args.slot[2] = out.data();
      ASSERT_EQ(set.kernel("k" + std::to_string(n) + "_" + std::to_string(t))(&step, &args, 0, 1), 0);
      for (int i = 0; i < 16; ++i)
        EXPECT_EQ(wide[i], i < n ? float(i) + 0.5f : 0.0f);
      EXPECT_EQ(memcmp(in.data(), out.data(), n * bytes), 0);
      for (size_t i = n * bytes; i < 128; ++i)
        EXPECT_EQ(out[i], 0xab);
    }
}

INSTANTIATE_TEST_SUITE_P(Targets, MathKernels, testing::ValuesIn(kFloatTargets), targetName);
