//===- Meta.cpp -----------------------------------------------------------------------------------------===//
#include "runtime/weights/Meta.h"

#include <nlohmann/json.hpp>

namespace ingot::weights {
namespace {

using Json = nlohmann::json;

/// Reads members of one object; the first fault is kept in `error`.
class Reader {
public:
  Reader(const Json &object, std::string prefix, std::string &error)
      : object(object), prefix(std::move(prefix)), error(error) {}

  void text(const char *key, std::string &out) {
    if (const Json *v = get(key)) {
      if (v->is_string())
        out = *v->get_ptr<const std::string *>();
      else
        wrong(key, "a string");
    }
  }
  void optionalText(const char *key, std::optional<std::string> &out) {
    if (get(key))
      text(key, out.emplace());
  }
  void integer(const char *key, int64_t low, int64_t high, int64_t &out) {
    const Json *v = get(key);
    if (!v)
      return;
    if (!v->is_number_integer()) {
      wrong(key, "an integer");
      return;
    }
    bool tooLarge = v->is_number_unsigned() && v->get<uint64_t>() > uint64_t(INT64_MAX);
    int64_t value = tooLarge ? 0 : v->get<int64_t>();
    if (tooLarge || value < low || value > high)
      wrong(key, "in its range");
    else
      out = value;
  }
  void size(const char *key, uint64_t &out) {
    int64_t value = int64_t(out);
    integer(key, 0, INT64_MAX, value);
    out = uint64_t(value);
  }
  void id(const char *key, int32_t &out) {
    int64_t value = out;
    integer(key, -1, INT32_MAX, value);
    out = int32_t(value);
  }
  void number(const char *key, std::optional<double> &out) {
    if (const Json *v = get(key)) {
      if (v->is_number())
        out = v->get<double>();
      else
        wrong(key, "a number");
    }
  }
  void ids(const char *key, std::vector<int32_t> &out) {
    const Json *v = get(key);
    if (!v)
      return;
    if (!v->is_array()) {
      wrong(key, "an array of ids");
      return;
    }
    for (const Json &item : *v) {
      bool fits = item.is_number_unsigned() && item.get<uint64_t>() <= uint64_t(INT32_MAX);
      if (!fits) {
        wrong(key, "an array of ids");
        return;
      }
      out.push_back(item.get<int32_t>());
    }
  }
  const Json *child(const char *key) {
    const Json *v = get(key);
    if (v && !v->is_object()) {
      wrong(key, "an object");
      return nullptr;
    }
    return v;
  }
  /// Null where the member is absent or JSON null.
  const Json *get(const char *key) const {
    auto it = object.find(key);
    return it == object.end() || it->is_null() ? nullptr : &*it;
  }
  void wrong(const char *key, const char *wanted) {
    if (error.empty())
      error = prefix + key + "' is not " + wanted;
  }

private:
  const Json &object;
  std::string prefix;
  std::string &error;
};

} // namespace

bool parseMeta(std::string_view text, const std::string &where, ModelMeta &out, std::string &error) {
  Json root = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) {
    error = where + ": section META is not a JSON object";
    return false;
  }
  std::string fault;
  Reader r(root, where + ": section META: '", fault);
  r.text("name", out.name);
  r.text("arch", out.arch);
  r.text("source", out.source);
  r.text("build", out.build);
  r.size("vocab", out.vocab);
  r.size("hidden", out.hidden);
  r.size("layers", out.layers);
  r.size("context", out.context);
  r.optionalText("chat_template", out.chatTemplate);
  r.text("bos_token", out.bosToken);
  r.text("eos_token", out.eosToken);
  if (const Json *g = r.child("generation")) {
    Reader gr(*g, where + ": section META: 'generation.", fault);
    gr.ids("eos_ids", out.generation.eosIds);
    gr.id("bos_id", out.generation.bosId);
    gr.number("temperature", out.generation.temperature);
    gr.number("top_p", out.generation.topP);
    gr.number("min_p", out.generation.minP);
    gr.number("repetition_penalty", out.generation.repetitionPenalty);
    if (gr.get("top_k")) {
      int64_t k = 0;
      gr.integer("top_k", -1, INT32_MAX, k);
      out.generation.topK = k;
    }
  }
  if (const Json *p = r.child("plan")) {
    Reader pr(*p, where + ": section META: 'plan.", fault);
    pr.size("weight_bytes", out.plan.weightBytes);
    pr.size("kv_token_bytes", out.plan.kvTokenBytes);
    pr.size("kv_page_bytes", out.plan.kvPageBytes);
    pr.size("arena_bytes", out.plan.arenaBytes);
    pr.size("private_bytes", out.plan.privateBytes);
    pr.size("scratch_bytes", out.plan.scratchBytes);
    pr.size("tokenizer_bytes", out.plan.tokenizerBytes);
    pr.size("max_seqs", out.plan.maxSeqs);
    pr.size("chunk", out.plan.chunk);
  }
  if (const Json *isas = r.get("isas")) {
    if (!isas->is_array())
      r.wrong("isas", "an array of strings");
    else
      for (const Json &item : *isas) {
        if (item.is_string())
          out.isas.push_back(*item.get_ptr<const std::string *>());
        else
          r.wrong("isas", "an array of strings");
      }
  }
  if (!fault.empty()) {
    error = fault;
    return false;
  }
  return true;
}

} // namespace ingot::weights
