//===- HfStages.cpp - Normalizers, pre-tokenizers, ... --------------------===//
#include "compiler/import/tokenizer/HfStages.h"
#include <algorithm>

namespace ingot::import_ {

bool HfStages::knownFields(const Json &j, const std::string &where,
                           std::initializer_list<const char *> names) {
  for (const auto &item : j.items())
    if (std::none_of(names.begin(), names.end(), [&](const char *n) { return item.key() == n; }))
      return fail(where + ": unknown field " + quoteText(item.key()));
  return true;
}

bool HfStages::boolean(const Json &j, const char *key, bool fallback, const std::string &where, bool &out) {
  auto it = j.find(key);
  out = fallback;
  if (it == j.end() || it->is_null())
    return true;
  if (!it->is_boolean())
    return fail(where + "." + key + " is not a boolean");
  out = it->get<bool>();
  return true;
}

bool HfStages::text(const Json &j, const char *key, const std::string &where, std::string &out) {
  auto it = j.find(key);
  if (it == j.end() || !it->is_string())
    return fail(where + "." + key + " is not a string");
  out = it->get_ref<const std::string &>();
  return true;
}

bool HfStages::walk(const Json &j, const std::string &where, const char *listName, One one, int depth) {
  if (j.is_null())
    return true;
  std::string type;
  if (!j.is_object())
    return fail(where + " is not an object");
  if (depth > 8)
    return fail(where + ": sequences are nested too deeply");
  if (!text(j, "type", where, type))
    return false;
  if (type != "Sequence")
    return (this->*one)(j, type, where);
  if (!knownFields(j, where, {"type", listName}))
    return false;
  auto list = j.find(listName);
  if (list == j.end() || !list->is_array())
    return fail(where + "." + listName + " is not an array");
  for (size_t i = 0; i < list->size(); ++i)
    if (!walk((*list)[i], where + "." + listName + "[" + std::to_string(i) + "]", listName, one, depth + 1))
      return false;
  return true;
}

bool HfStages::pattern(const Json &j, const std::string &where, std::string &out, bool &isRegex) {
  auto it = j.find("pattern");
  if (it == j.end() || !it->is_object() || it->size() != 1)
    return fail(where + ".pattern is not an object with String or Regex");
  isRegex = it->contains("Regex");
  if (!isRegex && !it->contains("String"))
    return fail(where + ".pattern: unknown kind " + quoteText(it->begin().key()));
  return text(*it, isRegex ? "Regex" : "String", where + ".pattern", out);
}

bool HfStages::behavior(const Json &j, const std::string &where, const char *fallback, uint32_t &out) {
  std::string name = fallback;
  if (j.contains("behavior") && !text(j, "behavior", where, name))
    return false;
  static constexpr std::pair<const char *, uint32_t> names[] = {
      {"Isolated", INGOT_TOK_ISOLATED},
      {"Removed", INGOT_TOK_REMOVED},
      {"MergedWithPrevious", INGOT_TOK_MERGED_WITH_PREVIOUS},
      {"MergedWithNext", INGOT_TOK_MERGED_WITH_NEXT},
      {"Contiguous", INGOT_TOK_CONTIGUOUS}};
  for (const auto &n : names)
    if (name == n.first) {
      out = n.second;
      return true;
    }
  return fail(where + ".behavior: unknown value " + quoteText(name));
}

bool HfStages::metaspace(const Json &j, const std::string &where, std::string &replacement, uint32_t &scheme,
                         bool &split) {
  bool prefix;
  if (!knownFields(j, where,
                   {"type", "replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep"}) ||
      !text(j, "replacement", where, replacement) || !boolean(j, "split", true, where, split) ||
      !boolean(j, "add_prefix_space", true, where, prefix))
    return false;
  std::string name = prefix ? "always" : "never";
  if (j.contains("prepend_scheme") && !text(j, "prepend_scheme", where, name))
    return false;
  if (!prefix && name != "never")
    return fail(where + ": add_prefix_space false contradicts prepend_scheme " + quoteText(name));
  if (name == "always")
    scheme = INGOT_TOK_PREPEND_ALWAYS;
  else if (name == "first")
    scheme = INGOT_TOK_PREPEND_FIRST;
  else if (name == "never")
    scheme = INGOT_TOK_PREPEND_NEVER;
  else
    return fail(where + ".prepend_scheme: unknown value " + quoteText(name));
  return true;
}

bool HfStages::oneNormalizer(const Json &j, const std::string &type, const std::string &where) {
  static constexpr std::pair<const char *, uint32_t> plain[] = {{"NFC", INGOT_TOK_N_NFC},
                                                                {"NFD", INGOT_TOK_N_NFD},
                                                                {"NFKC", INGOT_TOK_N_NFKC},
                                                                {"NFKD", INGOT_TOK_N_NFKD},
                                                                {"Lowercase", INGOT_TOK_N_LOWERCASE},
                                                                {"StripAccents", INGOT_TOK_N_STRIP_ACCENTS},
                                                                {"ByteLevel", INGOT_TOK_N_BYTE_LEVEL}};
  for (const auto &p : plain)
    if (type == p.first) {
      t_.normalizers.push_back({p.second, 0, "", ""});
      if (p.second == INGOT_TOK_N_BYTE_LEVEL)
        t_.flags |= INGOT_TOK_BYTE_LEVEL;
      return knownFields(j, where, {"type"});
    }
  TokenizerTables::Stage s;
  if (type == "Replace") {
    bool isRegex;
    if (!knownFields(j, where, {"type", "pattern", "content"}) || !pattern(j, where, s.a, isRegex) ||
        !text(j, "content", where, s.b))
      return false;
    s.kind = isRegex ? INGOT_TOK_N_REPLACE_REGEX : INGOT_TOK_N_REPLACE;
  } else if (type == "Prepend") {
    s.kind = INGOT_TOK_N_PREPEND;
    if (!knownFields(j, where, {"type", "prepend"}) || !text(j, "prepend", where, s.a))
      return false;
  } else if (type == "Strip") {
    bool left, right;
    s.kind = INGOT_TOK_N_STRIP;
    if (!knownFields(j, where, {"type", "strip_left", "strip_right"}) ||
        !boolean(j, "strip_left", true, where, left) || !boolean(j, "strip_right", true, where, right))
      return false;
    s.flags = (left ? 1u : 0u) | (right ? 2u : 0u);
  } else {
    return fail(where + ": type " + quoteText(type) + " is not supported");
  }
  t_.normalizers.push_back(std::move(s));
  return true;
}

bool HfStages::onePreTokenizer(const Json &j, const std::string &type, const std::string &where) {
  TokenizerTables::Stage s;
  if (type == "ByteLevel") {
    bool prefix, trim, regex;
    if (!knownFields(j, where, {"type", "add_prefix_space", "trim_offsets", "use_regex"}) ||
        !boolean(j, "add_prefix_space", true, where, prefix) ||
        !boolean(j, "trim_offsets", true, where, trim) || !boolean(j, "use_regex", true, where, regex))
      return false;
    s.kind = INGOT_TOK_P_BYTE_LEVEL;
    s.flags = (prefix ? 1u : 0u) | (regex ? 2u : 0u);
    t_.flags |= INGOT_TOK_BYTE_LEVEL;
  } else if (type == "Metaspace") {
    uint32_t scheme;
    bool split;
    if (!metaspace(j, where, s.a, scheme, split))
      return false;
    s.kind = INGOT_TOK_P_METASPACE;
    s.flags = scheme | (split ? 4u : 0u);
  } else if (type == "Split") {
    bool isRegex, invert;
    uint32_t how;
    if (!knownFields(j, where, {"type", "pattern", "behavior", "invert"}) ||
        !pattern(j, where, s.a, isRegex) || !behavior(j, where, "", how) ||
        !boolean(j, "invert", false, where, invert))
      return false;
    s.kind = isRegex ? INGOT_TOK_P_SPLIT_REGEX : INGOT_TOK_P_SPLIT;
    s.flags = how | (invert ? 8u : 0u);
  } else if (type == "Punctuation") {
    s.kind = INGOT_TOK_P_PUNCTUATION;
    if (!knownFields(j, where, {"type", "behavior"}) || !behavior(j, where, "Isolated", s.flags))
      return false;
  } else if (type == "Digits") {
    bool individual;
    if (!knownFields(j, where, {"type", "individual_digits"}) ||
        !boolean(j, "individual_digits", false, where, individual))
      return false;
    s.kind = INGOT_TOK_P_DIGITS;
    s.flags = individual;
  } else if (type == "Whitespace") {
    s = {INGOT_TOK_P_SPLIT_REGEX, INGOT_TOK_REMOVED | 8u,
         R"([[:word:]\x{200C}\x{200D}]+|[^[:word:]\x{200C}\x{200D}\s]+)", ""};
    if (!knownFields(j, where, {"type"}))
      return false;
  } else if (type == "WhitespaceSplit") {
    s.kind = INGOT_TOK_P_WHITESPACE_SPLIT;
    if (!knownFields(j, where, {"type"}))
      return false;
  } else if (type == "BertPreTokenizer") {
    s.kind = INGOT_TOK_P_BERT;
    if (!knownFields(j, where, {"type"}))
      return false;
  } else if (type == "CharDelimiterSplit") {
    s.kind = INGOT_TOK_P_SPLIT;
    s.flags = INGOT_TOK_REMOVED;
    if (!knownFields(j, where, {"type", "delimiter"}) || !text(j, "delimiter", where, s.a))
      return false;
  } else {
    return fail(where + ": type " + quoteText(type) + " is not supported");
  }
  t_.preTokenizers.push_back(std::move(s));
  return true;
}

bool HfStages::tokenAndId(const Json &j, const char *key, const std::string &where, int32_t &id) {
  auto it = j.find(key);
  if (it == j.end() || !it->is_array() || it->size() != 2 || !(*it)[1].is_number_unsigned() ||
      (*it)[1].get<uint64_t>() >= t_.tokens.size())
    return fail(where + "." + key + " is not a token with an id of the vocabulary");
  id = static_cast<int32_t>((*it)[1].get<uint64_t>());
  return true;
}

bool HfStages::templateList(const Json &j, const char *key, const Json &specials, const std::string &where,
                            std::vector<int32_t> &out) {
  auto list = j.find(key);
  if (list == j.end() || !list->is_array())
    return fail(where + "." + key + " is not an array");
  for (size_t i = 0; i < list->size(); ++i) {
    const Json &item = (*list)[i];
    const std::string at = where + "." + key + "[" + std::to_string(i) + "]";
    if (!item.is_object() || item.size() != 1)
      return fail(at + " is not an object with Sequence or SpecialToken");
    const std::string &kind = item.begin().key();
    const Json &body = item.begin().value();
    std::string id;
    if (!body.is_object() || !knownFields(body, at, {"id", "type_id"}) || !text(body, "id", at, id))
      return error_.empty() ? fail(at + " is not an object") : false;
    if (kind == "Sequence") {
      if (id != "A" && id != "B")
        return fail(at + ": unknown sequence " + quoteText(id));
      out.push_back(id == "A" ? -1 : -2);
      continue;
    }
    if (kind != "SpecialToken")
      return fail(at + ": unknown kind " + quoteText(kind));
    auto special = specials.find(id);
    if (special == specials.end() || !special->is_object() || !special->contains("ids") ||
        !(*special)["ids"].is_array())
      return fail(at + ": special token " + quoteText(id) + " is not among special_tokens");
    for (const Json &n : (*special)["ids"]) {
      if (!n.is_number_unsigned() || n.get<uint64_t>() >= t_.tokens.size())
        return fail(where + ".special_tokens: an id of " + quoteText(id) + " is outside the vocabulary");
      out.push_back(static_cast<int32_t>(n.get<uint64_t>()));
    }
  }
  return true;
}

bool HfStages::onePostProcessor(const Json &j, const std::string &type, const std::string &where) {
  if (type == "ByteLevel") // it only moves offsets
    return knownFields(j, where, {"type", "add_prefix_space", "trim_offsets", "use_regex"});
  if (type != "TemplateProcessing" && type != "BertProcessing" && type != "RobertaProcessing")
    return fail(where + ": type " + quoteText(type) + " is not supported");
  if (templated_)
    return fail(where + ": a second post-processor that adds tokens is not supported");
  templated_ = true;
  if (type != "TemplateProcessing") {
    int32_t sep, cls;
    if (!knownFields(j, where, {"type", "sep", "cls", "trim_offsets", "add_prefix_space"}) ||
        !tokenAndId(j, "sep", where, sep) || !tokenAndId(j, "cls", where, cls))
      return false;
    t_.single = {cls, -1, sep};
    t_.pair = {cls, -1, sep, -2, sep};
    if (type == "RobertaProcessing")
      t_.pair = {cls, -1, sep, sep, -2, sep};
    return true;
  }
  if (!knownFields(j, where, {"type", "single", "pair", "special_tokens"}))
    return false;
  auto specials = j.find("special_tokens");
  if (specials == j.end() || !specials->is_object())
    return fail(where + ".special_tokens is not an object");
  if (!templateList(j, "single", *specials, where, t_.single) ||
      !templateList(j, "pair", *specials, where, t_.pair))
    return false;
  if (std::count(t_.single.begin(), t_.single.end(), -1) != 1 ||
      std::count(t_.single.begin(), t_.single.end(), -2) != 0)
    return fail(where + ".single does not hold the sequence A once");
  return true;
}

bool HfStages::postProcessor(const Json &j) {
  if (!walk(j, "post_processor", "processors", &HfStages::onePostProcessor))
    return false;
  if (!templated_) {
    t_.single = {-1};
    t_.pair = {-1, -2};
  }
  return true;
}

bool HfStages::oneDecoder(const Json &j, const std::string &type, const std::string &where) {
  TokenizerTables::Stage s;
  if (type == "ByteLevel") {
    s.kind = INGOT_TOK_D_BYTE_LEVEL;
    if (!knownFields(j, where, {"type", "add_prefix_space", "trim_offsets", "use_regex"}))
      return false;
  } else if (type == "ByteFallback" || type == "Fuse") {
    s.kind = type == "Fuse" ? INGOT_TOK_D_FUSE : INGOT_TOK_D_BYTE_FALLBACK;
    if (!knownFields(j, where, {"type"}))
      return false;
  } else if (type == "Replace") {
    bool isRegex;
    s.kind = INGOT_TOK_D_REPLACE;
    if (!knownFields(j, where, {"type", "pattern", "content"}) || !pattern(j, where, s.a, isRegex) ||
        !text(j, "content", where, s.b))
      return false;
    if (isRegex)
      return fail(where + ".pattern: Regex is not supported in a decoder");
  } else if (type == "Metaspace") {
    bool split;
    s.kind = INGOT_TOK_D_METASPACE;
    if (!metaspace(j, where, s.a, s.flags, split))
      return false;
  } else if (type == "Strip") {
    s.kind = INGOT_TOK_D_STRIP;
    if (!knownFields(j, where, {"type", "content", "start", "stop"}) || !text(j, "content", where, s.a))
      return false;
    uint64_t n[2] = {0, 0};
    const char *keys[2] = {"start", "stop"};
    for (int i = 0; i < 2; ++i) {
      auto it = j.find(keys[i]);
      if (it == j.end())
        continue;
      if (!it->is_number_unsigned() || it->get<uint64_t>() > 1000)
        return fail(where + "." + keys[i] + " is not a small count");
      n[i] = it->get<uint64_t>();
    }
    s.flags = static_cast<uint32_t>(n[0] | n[1] << 16);
  } else {
    return fail(where + ": type " + quoteText(type) + " is not supported");
  }
  t_.decoders.push_back(std::move(s));
  return true;
}

bool HfStages::decoder(const Json &j) {
  if (!walk(j, "decoder", "decoders", &HfStages::oneDecoder))
    return false;
  auto &d = t_.decoders;
  if (j.is_null())
    d.push_back({INGOT_TOK_D_JOIN_SPACE, 0, "", ""});
  // Behind a ByteLevel decoder the text is one piece already.
  if (d.size() == 2 && d[0].kind == INGOT_TOK_D_BYTE_LEVEL && d[1].kind == INGOT_TOK_D_FUSE)
    d.pop_back();
  bool bytes =
      std::any_of(d.begin(), d.end(), [](const auto &s) { return s.kind == INGOT_TOK_D_BYTE_LEVEL; });
  if (bytes != ((t_.flags & INGOT_TOK_BYTE_LEVEL) != 0))
    return fail(bytes ? "decoder: ByteLevel without a ByteLevel pre_tokenizer is not supported"
                      : "decoder: a ByteLevel pre_tokenizer without a ByteLevel decoder is not supported");
  return true;
}

} // namespace ingot::import_
