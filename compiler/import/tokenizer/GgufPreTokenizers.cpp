//===- GgufPreTokenizers.cpp - tokenizer.ggml.pre -------------------------===//
//
// The expressions are those of the models' own tokenizer files, in the form in
// which GGUF files are tokenized in practice (a model whose file splits digits
// first has a rule for it of its own).
//
//===----------------------------------------------------------------------===//
#include "compiler/import/tokenizer/GgufPreTokenizers.h"

namespace ingot::import_ {
namespace {

constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3 =
    R"('[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kJais2 =
    R"('[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})";
constexpr std::string_view kQwen2 =
    R"('[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen35 =
    R"('[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kDeepSeekWord =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kDeepSeekLetters =
    "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴ"
    "ῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+";
constexpr std::string_view kCjk = "[一-龥ࠀ-一가-\xed\x9f\xbf]+"; // the last end is U+D7FF
constexpr std::string_view kCjkKana = "[一-龥぀-ゟ゠-ヿ]+";
constexpr std::string_view kPoro = " ?[^(\\s|.,!?…。，、।۔،)]+";
constexpr std::string_view kFalconPunctuation = R"([\p{P}\$\+<=>\^~\|`]+)";
constexpr std::string_view kThreeDigits = "[0-9][0-9][0-9]";
constexpr std::string_view kCasedWord =
    R"([^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]*[\p{L}&&[^A-Z]]+|[^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]+[\p{L}&&[^A-Z]]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]*[\p{L}&&[^A-Z]]+(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|[^\r\n\p{L}\p{N}]?[\p{L}&&[^a-z]]+[\p{L}&&[^A-Z]]*(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kCohereWord =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kBailing =
    R"('(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr std::string_view kSeedCoder =
    R"('[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kExaoneMoe =
    R"('[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)";

} // namespace

bool findGgufPreTokenizer(std::string_view name, GgufPreTokenizer &out) {
  auto is = [&](std::initializer_list<std::string_view> names) {
    for (std::string_view n : names)
      if (n == name)
        return true;
    return false;
  };
  out = GgufPreTokenizer();
  if (is({"", "default"})) {
    out.expressions = {R"([\p{P}\$\+<=>\^~\|]+)", kGpt2, R"(\p{N}+)", kThreeDigits};
  } else if (is({"llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2",
                 "jina-v5-nano"})) {
    out.expressions = {kLlama3};
    out.ignoreMerges = out.addBos = true;
  } else if (is({"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"})) {
    out.expressions = {kLlama3};
  } else if (is({"jais-2"})) {
    out.expressions = {kJais2};
  } else if (is({"deepseek-llm"})) {
    out.expressions = {"[\r\n]",
                       kDeepSeekLetters,
                       "\\s?[!-/:-~！-／：-～‘-‟　-。]+",
                       "\\s+\\z",
                       kCjk,
                       "\\p{N}+"};
  } else if (is({"deepseek-coder"})) {
    out.expressions = {"[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", kCjk, "\\p{N}"};
  } else if (is({"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"})) {
    out.expressions = {"\\p{N}{1,3}", kCjkKana, kDeepSeekWord};
  } else if (is({"falcon"})) {
    out.expressions = {kFalconPunctuation, kGpt2, kThreeDigits};
  } else if (is({"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b", "mellum2"})) {
    out.expressions = {"\\p{N}", kGpt2};
  } else if (is({"gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "granite-docling", "gigachat", "a.x-4.0",
                 "mellum", "exaone4", "modern-bert", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de",
                 "jina-v1-en", "jina-v2-code", "roberta-bpe"})) {
    out.expressions = {kGpt2};
  } else if (is({"qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "megrez", "stablelm2", "hunyuan", "solar-open",
                 "grok-2"})) {
    out.expressions = {kQwen2};
  } else if (is({"qwen35"})) {
    out.expressions = {kQwen35};
  } else if (is({"poro-chat", "bloom", "gpt3-finnish"})) {
    out.expressions = {kPoro};
  } else if (is({"viking"})) {
    out.expressions = {kPoro, "\\p{N}"};
  } else if (is({"tekken"})) {
    out.expressions = {kCasedWord};
    out.ignoreMerges = out.addBos = true;
  } else if (is({"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"})) {
    out.expressions = {kGpt4o};
  } else if (is({"tiny_aya", "cohere2moe"})) {
    out.expressions = {"\\d{1,3}(?=(?:\\d{3})*\\b)", kCohereWord};
  } else if (is({"superbpe"})) {
    out.expressions = {"\\p{N}+", "(?=(\\d{3})+(?!\\d))"};
  } else if (is({"bailingmoe", "bailingmoe2", "llada-moe"})) {
    out.expressions = {kBailing};
  } else if (is({"seed-coder"})) {
    out.expressions = {kSeedCoder};
  } else if (is({"exaone-moe"})) {
    out.expressions = {kExaoneMoe};
  } else {
    return false;
  }
  return true;
}

} // namespace ingot::import_
