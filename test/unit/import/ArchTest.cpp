// Architectures: what each config says reaches the module, and what no code handles is refused by name.
#include "TestPaths.h"
#include "TinyModel.h"
#include "compiler/arch/Build.h"
#include "compiler/arch/ModelConfig.h"
#include "compiler/arch/Rope.h"
#include "dialects/llm/Llm.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace ingot;
using namespace ingot::import_;
using test::TinyModel;
using test::tinySizes;

namespace {

/// Builds the model at `path`; keeps context and module together.
struct Built {
  explicit Built(const std::string &path, const std::string &configFile = "config.json",
                 arch::BuildOptions options = {}) {
    OpenOptions open;
    open.configFile = configFile;
    open.tokenizer = false;
    auto source = openModel(path, open);
    if (!source) {
      error = llvm::toString(source.takeError());
      return;
    }
    std::string ignored;
    arch::readModelConfig(**source, options, config, ignored);
    module = arch::buildModel(&context, **source, options, error);
  }
  template <typename Op> std::vector<Op> all() {
    std::vector<Op> out;
    module->walk([&](Op op) { out.push_back(op); });
    return out;
  }
  std::string text() {
    std::string out;
    llvm::raw_string_ostream os(out);
    module->print(os);
    return out;
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  arch::ModelConfig config;
  std::string error;
};

void expectError(const std::string &path, const std::string &part) {
  Built built(path);
  EXPECT_FALSE(built.module);
  EXPECT_NE(built.error.find(part), std::string::npos) << built.error;
  EXPECT_NE(built.error.find(path), std::string::npos) << built.error;
}

std::string llama(const std::string &more, int layers = 1) {
  return R"("model_type":"llama","tie_word_embeddings":true,)" + tinySizes(layers) +
         (more.empty() ? "" : ",") + more;
}

TEST(Llama, Module) {
  TinyModel tiny(llama(R"("rms_norm_eps":0.02,"rope_theta":500.0,"initializer_range":0.02,"quux":[1])", 2));
  Built b(tiny.decoder(2).tensor("model.layers.1.self_attn.rotary_emb.inv_freq", {2}, "F32").write());
  ASSERT_TRUE(b.module) << b.error;
  EXPECT_EQ(b.all<llm::LinearOp>().size(), 14u);
  EXPECT_EQ(b.all<llm::ParamOp>().size(), 2u + 2 * 9);
  auto attention = b.all<llm::AttentionOp>();
  ASSERT_EQ(attention.size(), 2u);
  EXPECT_EQ(attention[1].getMask().getWindow(), 0);
  EXPECT_FLOAT_EQ(attention[1].getScale().convertToFloat(), 0.5f);
  EXPECT_EQ(attention[1].getKv().getType().getLayer(), 1);
  EXPECT_FLOAT_EQ(b.all<llm::RmsNormOp>()[0].getEps().convertToFloat(), 0.02f);
  llm::RopeAttr rope = b.all<llm::RopeOp>()[0].getRope();
  EXPECT_EQ(rope.getStyle(), llm::RopeStyle::Half);
  ASSERT_EQ(rope.frequencies().size(), 2u);
  EXPECT_DOUBLE_EQ(rope.frequencies()[1], 1 / std::sqrt(500.0));
  // The tied head is the embedding table itself.
  EXPECT_EQ(b.all<llm::LogitsOp>()[0].getHead(), "token_embd");
  // Vectors are kept in f32, whatever the file holds.
  EXPECT_EQ(b.module->lookupSymbol<llm::ParamOp>("output_norm").packedType().getScheme(), qfmt::Scheme::F32);
  EXPECT_EQ(b.module->lookupSymbol<llm::ParamOp>("output_norm").sourceScheme(), qfmt::Scheme::BF16);
}

TEST(Llama, TextRoundTrips) {
  TinyModel tiny(llama("", 2));
  Built b(tiny.decoder(2).write());
  ASSERT_TRUE(b.module) << b.error;
  auto again = mlir::parseSourceString<mlir::ModuleOp>(b.text(), &b.context);
  ASSERT_TRUE(again);
  std::string text;
  llvm::raw_string_ostream os(text);
  again->print(os);
  EXPECT_EQ(text, b.text());
}

TEST(Llama, LocationsNameTensors) {
  TinyModel tiny(llama(""));
  Built b(tiny.decoder(1).write());
  ASSERT_TRUE(b.module) << b.error;
  auto loc = mlir::dyn_cast<mlir::NameLoc>(b.all<llm::LinearOp>()[0].getLoc());
  ASSERT_TRUE(loc);
  EXPECT_EQ(loc.getName().getValue(), "blk.0.attn_q");
}

TEST(Llama, Biases) {
  TinyModel tiny(llama(R"("attention_bias":true,"mlp_bias":true)"));
  tiny.decoder(1, /*biases=*/true).tensor("model.layers.0.self_attn.o_proj.bias", {8});
  tiny.tensor("model.layers.0.mlp.gate_proj.bias", {16}).tensor("model.layers.0.mlp.up_proj.bias", {16});
  expectError(tiny.write(), "'model.layers.0.mlp.down_proj.bias' is missing");
  Built b(tiny.tensor("model.layers.0.mlp.down_proj.bias", {8}).write());
  ASSERT_TRUE(b.module) << b.error;
  for (llm::LinearOp linear : b.all<llm::LinearOp>())
    EXPECT_TRUE(linear.getBias().has_value());
}

TEST(Llama, TensorFaults) {
  {
    TinyModel t(llama(""));
    expectError(t.decoder(1).drop("model.norm.weight").write(), "'model.norm.weight' is missing");
  }
  {
    TinyModel t(llama(""));
    expectError(t.decoder(1).tensor("model.layers.0.self_attn.q_proj.bias", {8}).write(),
                "'model.layers.0.self_attn.q_proj.bias' has no place");
  }
  {
    TinyModel t(llama(""));
    expectError(t.decoder(1).tensor("model.layers.0.mlp.up_proj.weight", {8, 16}).write(),
                "shape [8, 16], expected [16, 8]");
  }
  {
    TinyModel t(llama(""));
    expectError(t.decoder(1).tensor("model.layers.0.mlp.up_proj.weight", {16, 8}, "I16").write(), "'I16'");
  }
}

TEST(Llama, FieldFaults) {
  const std::pair<const char *, const char *> faults[] = {
      {R"("hidden_act":"relu")", "'relu'"},
      {R"("head_dim":3)", "head_dim"},
      {R"("rope_scaling":{"type":"dynamic","factor":2.0})", "dynamic"},
      {R"("rope_scaling":{"type":"quux","factor":2.0})", "quux"},
      {R"("rope_scaling":{"type":"linear"})", "rope_scaling.factor"},
      {R"("rope_scaling":{"rope_type":"default","mrope_section":[1]})", "mrope_section"},
      {R"("rope_parameters":{"full_attention":{"rope_theta":1.0}})", "full_attention"},
      {R"("rope_parameters":{"partial_rotary_factor":0.5})", "partial_rotary_factor"},
      {R"("rope_parameters":{"rope_type":"default"},"rope_scaling":{"type":"linear","factor":2.0})",
       "contradict"},
      {R"("rope_parameters":[1])", "rope_parameters"},
      {R"("rope_theta":0)", "rope_theta"},
      {R"("sliding_window":16)", "sliding_window"},
      {R"("layer_types":["chunked_attention"])", "layer_types"},
      {R"("layer_types":["sliding_attention"])", "layer_types"},
      {R"("layer_types":["full_attention","full_attention"])", "layer_types"},
      {R"("quantization_config":{"quant_method":"gptq"})", "quantization_config"},
      {R"("attn_logit_softcapping":30.0)", "attn_logit_softcapping"},
      {R"("residual_multiplier":0.5)", "residual_multiplier"},
      {R"("num_local_experts":8)", "num_local_experts"},
      {R"("tie_word_embeddings":0)", "tie_word_embeddings"},
      {R"("rms_norm_eps":0)", "rms_norm_eps"},
      {R"("max_position_embeddings":0)", "max_position_embeddings"},
  };
  for (auto [field, part] : faults) {
    SCOPED_TRACE(field);
    std::string base = llama(field);
    if (llvm::StringRef(field).starts_with("\"tie_word"))
      base = R"("model_type":"llama",)" + tinySizes(1) + "," + field;
    TinyModel tiny(base);
    expectError(tiny.decoder(1).write(), part);
  }
  // Neutral values of the same fields are fine.
  TinyModel neutral(llama(R"("quantization_config":null,"residual_multiplier":1.0,"num_local_experts":0,)"
                          R"("sliding_window":null,"attention_bias":false,"partial_rotary_factor":1.0)"));
  Built b(neutral.decoder(1).write());
  EXPECT_TRUE(b.module) << b.error;
}

TEST(Context, DefaultAndLimit) {
  TinyModel tiny(llama(R"("max_position_embeddings":100000)"));
  std::string path = tiny.decoder(1).write();
  EXPECT_EQ(Built(path).config.context, 4096);
  arch::BuildOptions options;
  options.context = 100000;
  EXPECT_EQ(Built(path, "config.json", options).config.context, 100000);
  options.context = 100001;
  EXPECT_NE(Built(path, "config.json", options).error.find("max_position_embeddings"), std::string::npos);
}

/// Inverse frequencies and attention factor of a llama config with 16-wide heads.
arch::RopeConfig ropeOf(const std::string &fields, int64_t context = 0) {
  TinyModel tiny(llama(R"("head_dim":16,)" + fields));
  tiny.decoder(1).tensor("model.layers.0.self_attn.q_proj.weight", {32, 8});
  tiny.tensor("model.layers.0.self_attn.k_proj.weight", {16, 8})
      .tensor("model.layers.0.self_attn.v_proj.weight", {16, 8});
  tiny.tensor("model.layers.0.self_attn.o_proj.weight", {8, 32});
  arch::BuildOptions options;
  options.context = context;
  Built b(tiny.write(), "config.json", options);
  EXPECT_TRUE(b.module) << b.error;
  return b.config.ropes.empty() ? arch::RopeConfig() : b.config.ropes[0];
}

void expectNear(const std::vector<double> &found, const std::vector<double> &wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(found[i], wanted[i], 1e-14 * wanted[i]) << i;
}

// Expected values come from a separate evaluation of the published formulas in double precision.
TEST(Rope, Llama3) {
  auto rope = ropeOf(
      R"("rope_theta":500000.0,"rope_scaling":{"rope_type":"llama3","factor":8.0,"low_freq_factor":1.0,)"
      R"("high_freq_factor":4.0,"original_max_position_embeddings":64})");
  expectNear(rope.invFreq,
             {1, 0.0794030091792082, 0.0047007538663579916, 0.00091158309215213856, 0.00017677669529663688,
              3.4281021959525912e-05, 6.6478698711812362e-06, 1.2891731721515574e-06});
  EXPECT_EQ(rope.factor, 1.0);
}

TEST(Rope, Yarn) {
  auto rope =
      ropeOf(R"("rope_scaling":{"type":"yarn","factor":4.0,"original_max_position_embeddings":2048})");
  expectNear(rope.invFreq, {1, 0.31622776601683794, 0.1, 0.02569350598886808, 0.00625, 0.0013834964763236657,
                            0.00025, 7.9056941504209485e-05});
  EXPECT_NEAR(rope.factor, 1.1386294361119891, 1e-15);
  rope = ropeOf(R"("rope_scaling":{"type":"yarn","factor":4.0,"attention_factor":1.5})");
  EXPECT_EQ(rope.factor, 1.5);
}

TEST(Rope, LinearHalvesFrequencies) {
  auto plain = ropeOf(R"("rope_scaling":null)"),
       linear = ropeOf(R"("rope_scaling":{"type":"linear","factor":2.0})");
  for (double &f : plain.invFreq)
    f /= 2;
  expectNear(linear.invFreq, plain.invFreq);
}

TEST(Rope, LongropeFollowsTheCompiledContext) {
  std::string fields = R"("max_position_embeddings":64,"rope_scaling":{"rope_type":"longrope",)"
                       R"("original_max_position_embeddings":16,"short_factor":[1,1,1,1,1,1,1,1],)"
                       R"("long_factor":[2,2,2,2,2,2,2,2]})";
  auto brief = ropeOf(fields, 16), full = ropeOf(fields, 17);
  EXPECT_EQ(brief.invFreq[0], 1.0);
  EXPECT_EQ(full.invFreq[0], 0.5);
  EXPECT_NEAR(brief.factor, 1.2247448713915889, 1e-15);
  EXPECT_EQ(brief.factor, full.factor);
}

TEST(Mistral, Windows) {
  auto config = [](const std::string &more) {
    return R"("model_type":"mistral","tie_word_embeddings":true,)" + tinySizes(2) + more;
  };
  auto window = [&](const std::string &more) {
    TinyModel tiny(config(more));
    Built b(tiny.decoder(2).write());
    EXPECT_TRUE(b.module) << b.error;
    return b.module ? b.all<llm::AttentionOp>()[1].getMask().getWindow() : -1;
  };
  EXPECT_EQ(window(R"(,"sliding_window":16)"), 16);
  EXPECT_EQ(window(R"(,"sliding_window":null)"), 0);
  EXPECT_EQ(window(""), 4096);
}

TEST(Qwen2, BiasesAndWindows) {
  auto windows = [&](const std::string &more) {
    TinyModel tiny(R"("model_type":"qwen2","tie_word_embeddings":true,)" + tinySizes(3) + more);
    Built b(tiny.decoder(3, /*biases=*/true).write());
    EXPECT_TRUE(b.module) << b.error;
    std::vector<int64_t> out;
    for (llm::AttentionOp op : b.all<llm::AttentionOp>())
      out.push_back(op.getMask().getWindow());
    EXPECT_TRUE(b.all<llm::LinearOp>()[0].getBias().has_value());
    EXPECT_FALSE(b.all<llm::LinearOp>()[3].getBias().has_value());
    return out;
  };
  using V = std::vector<int64_t>;
  EXPECT_EQ(windows(R"(,"sliding_window":16,"max_window_layers":1)"), (V{0, 0, 0}));
  EXPECT_EQ(windows(R"(,"sliding_window":16,"max_window_layers":1,"use_sliding_window":true)"),
            (V{0, 16, 16}));
  EXPECT_EQ(windows(R"(,"sliding_window":16,"use_sliding_window":true,"layer_types":["sliding_attention",)"
                    R"("full_attention","sliding_attention"])"),
            (V{16, 0, 16}));
  TinyModel missing(R"("model_type":"qwen2","tie_word_embeddings":true,)" + tinySizes(1));
  expectError(missing.decoder(1).write(), "q_proj.bias' is missing");
}

TEST(Qwen3, HeadNorms) {
  TinyModel tiny(R"("model_type":"qwen3","tie_word_embeddings":true,"head_dim":4,)" + tinySizes(1));
  Built b(tiny.decoder(1, false, /*headNorms=*/true).write());
  ASSERT_TRUE(b.module) << b.error;
  auto norms = b.all<llm::RmsNormOp>();
  ASSERT_EQ(norms.size(), 5u);
  EXPECT_EQ(norms[1].getGroups(), 2u);
  EXPECT_EQ(norms[2].getGroups(), 1u);
  // Its class default is a head width of 128, not hidden / heads.
  TinyModel wide(R"("model_type":"qwen3","tie_word_embeddings":true,)" + tinySizes(1));
  expectError(wide.decoder(1, false, true).write(), "expected [256, 8]");
}

TinyModel &gemma(TinyModel &tiny, int layers) {
  tiny.decoder(layers, false, true);
  for (int i = 0; i < layers; ++i)
    for (const char *name : {"pre_feedforward_layernorm", "post_feedforward_layernorm"})
      tiny.tensor("model.layers." + std::to_string(i) + "." + name + ".weight", {8});
  return tiny;
}

TEST(Gemma3, BothStyles) {
  std::string sizes =
      R"("model_type":"gemma3_text","head_dim":4,"query_pre_attn_scalar":16,"sliding_window":8,)" +
      tinySizes(4);
  TinyModel v4(sizes + R"(,"sliding_window_pattern":3,"rope_theta":1e6,"rope_local_base_freq":1e4,)"
                       R"("rope_scaling":{"factor":8.0,"rope_type":"linear"})");
  TinyModel v5(sizes +
               R"(,"layer_types":["sliding_attention","sliding_attention","full_attention",)"
               R"("sliding_attention"],"rope_parameters":{"full_attention":{"factor":8.0,"rope_theta":1e6,)"
               R"("rope_type":"linear"},"sliding_attention":{"rope_theta":1e4,"rope_type":"default"}})");
  Built a(gemma(v4, 4).write()), b(gemma(v5, 4).write());
  ASSERT_TRUE(a.module) << a.error;
  ASSERT_TRUE(b.module) << b.error;
  auto attention = a.all<llm::AttentionOp>();
  EXPECT_EQ(attention[0].getMask().getWindow(), 8);
  EXPECT_EQ(attention[2].getMask().getWindow(), 0);
  EXPECT_FLOAT_EQ(attention[0].getScale().convertToFloat(), 0.25f);
  EXPECT_FLOAT_EQ(a.all<llm::EmbedOp>()[0].getScale().convertToFloat(), std::sqrt(8.0f));
  EXPECT_EQ(a.all<llm::GateOp>()[0].getKind(), llm::GateKind::GeluTanh);
  EXPECT_EQ(a.all<llm::RmsNormOp>().size(), 4u * 6 + 1);
  for (llm::RmsNormOp norm : a.all<llm::RmsNormOp>())
    EXPECT_TRUE(norm.getWeightOffset().isExactlyValue(1.0));
  ASSERT_EQ(a.config.ropes.size(), 2u);
  for (unsigned layer = 0; layer < 4; ++layer)
    EXPECT_EQ(a.config.layers[layer].rope, layer == 2 ? 0u : 1u);
  EXPECT_DOUBLE_EQ(a.config.ropes[0].invFreq[0], 0.125);
  EXPECT_DOUBLE_EQ(a.config.ropes[1].invFreq[1], 0.01);
  for (unsigned i = 0; i < 2; ++i)
    EXPECT_EQ(a.config.ropes[i].invFreq, b.config.ropes[i].invFreq);
}

//===-- References -------------------------------------------------------------------------------------===//

class Golden : public ::testing::TestWithParam<const char *> {};

TEST_P(Golden, DirectoriesBuildInBothStyles) {
  std::string dir = test::sharedDir() + "/golden/models/" + GetParam();
  if (!llvm::sys::fs::exists(dir))
    GTEST_SKIP() << "no shared references";
  Built base(dir);
  ASSERT_TRUE(base.module) << base.error;
  for (const char *other : {"config_v4.json", "config_v5.json"}) {
    if (!llvm::sys::fs::exists(dir + "/" + other))
      continue;
    Built b(dir, other);
    ASSERT_TRUE(b.module) << b.error;
    EXPECT_EQ(b.text(), base.text()) << other;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Golden,
                         ::testing::Values("llama", "llama_bias", "llama_head_dim", "llama_rope_llama3",
                                           "llama_tied_linear_rope", "mistral", "qwen2", "qwen2_window",
                                           "qwen3", "qwen3_yarn", "gemma3_text"));

TEST(Golden, OtherFamiliesAreRefusedByName) {
  std::string dir = test::sharedDir() + "/golden/models/";
  if (!llvm::sys::fs::exists(dir))
    GTEST_SKIP() << "no shared references";
  for (auto [name, part] : {std::pair("mixtral", "mixtral"),
                            {"gemma2", "gemma2"},
                            {"deepseek_v3", "deepseek_v3"},
                            {"quant_gptq_g128_sym", "quantization_config"},
                            {"quant_fp8_block128", "quantization_config"}})
    expectError(dir + name, part);
}

TEST(Golden, GgufFilesBuildOrNameTheirType) {
  std::string dir = test::sharedDir() + "/golden/gguf";
  std::error_code ec;
  unsigned built = 0, refused = 0;
  for (llvm::sys::fs::directory_iterator it(dir, ec), end; it != end && !ec; it.increment(ec)) {
    llvm::StringRef path = it->path(), name = path.rsplit('/').second;
    if (!name.ends_with(".gguf") || name.contains("-00002-of") || name.contains("-00003-of"))
      continue;
    SCOPED_TRACE(path.str());
    Built b(path.str());
    bool known = !name.starts_with("phi3");
    for (const char *type : {"IQ", "TQ", "Q2_K", "Q3_K", "MXFP4"})
      known &= !name.contains(type);
    EXPECT_EQ(bool(b.module), known) << b.error;
    ++(known ? built : refused);
    if (b.module && name.starts_with("llama"))
      EXPECT_EQ(b.all<llm::RopeOp>()[0].getRope().getStyle(), llm::RopeStyle::Interleaved);
    if (b.module && name.starts_with("gemma3")) {
      EXPECT_TRUE(b.all<llm::RmsNormOp>()[0].getWeightOffset().isZero());
      EXPECT_EQ(b.all<llm::AttentionOp>()[5].getMask().getWindow(), 0);
      EXPECT_EQ(b.all<llm::AttentionOp>()[4].getMask().getWindow(), 16);
    }
  }
  if (built + refused == 0)
    GTEST_SKIP() << "no shared references";
  EXPECT_GE(built, 25u);
}

} // namespace
