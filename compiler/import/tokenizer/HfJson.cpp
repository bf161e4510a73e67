//===- HfJson.cpp - Reading tokenizer.json --------------------------------===//
#include "compiler/import/tokenizer/HfJson.h"
#include "compiler/import/tokenizer/TokenizerTables.h"

namespace ingot::import_ {
namespace {

using Json = nlohmann::json;

/// Event handler: keeps a stack of open containers of the document, or streams.
class Handler : public nlohmann::json_sax<Json> {
public:
  Handler(HfFile &out, std::string &error) : out_(out), error_(error) {}

  bool null() override { return scalar(Json(nullptr), "null"); }
  bool boolean(bool v) override { return scalar(Json(v), "a boolean"); }
  bool number_integer(number_integer_t v) override { return integer(v, Json(v)); }
  bool number_unsigned(number_unsigned_t v) override {
    return integer(v > INT64_MAX ? INT64_MAX : static_cast<int64_t>(v), Json(v));
  }
  bool number_float(number_float_t v, const string_t &) override { return scalar(Json(v), "a fraction"); }
  bool binary(binary_t &) override { return false; }

  bool string(string_t &v) override {
    if (mode_ != Merges)
      return scalar(Json(std::move(v)), "a string");
    if (inMerge_) {
      parts_.push_back(std::move(v));
      return true;
    }
    // "left right": the only space, for no token of this form holds one
    size_t space = v.find(' ');
    if (space == std::string::npos || v.find(' ', space + 1) != std::string::npos)
      return fail("model.merges[" + std::to_string(out_.merges.size()) + "] " + quoteText(v) +
                  ": a merge is two tokens with one space between");
    out_.merges.emplace_back(v.substr(0, space), v.substr(space + 1));
    return true;
  }

  bool start_object(std::size_t) override {
    if (mode_ == Skip)
      return ++skipDepth_, true;
    if (mode_ != Document)
      return fail(streamError("an object"));
    if (atModelMember("vocab")) {
      mode_ = Vocab;
      out_.vocab.clear();
      out_.hasVocab = true;
      return true;
    }
    return open(Json::object());
  }
  bool key(string_t &k) override {
    if (mode_ == Skip)
      return true;
    key_ = std::move(k);
    return true;
  }
  bool end_object() override {
    if (mode_ == Skip)
      return --skipDepth_, true;
    if (mode_ == Vocab) {
      mode_ = Document;
      return true;
    }
    stack_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override {
    if (mode_ == Skip)
      return ++skipDepth_, true;
    if (mode_ == Merges && !inMerge_) {
      inMerge_ = true;
      parts_.clear();
      return true;
    }
    if (mode_ != Document)
      return fail(streamError("an array"));
    if (atModelMember("merges")) {
      mode_ = Merges;
      out_.merges.clear();
      out_.hasMerges = true;
      return true;
    }
    if (atModelMember("vocab")) {
      out_.hasVocab = out_.vocabIsList = true;
      mode_ = Skip;
      skipDepth_ = 1;
      return true;
    }
    return open(Json::array());
  }
  bool end_array() override {
    if (mode_ == Skip) {
      if (--skipDepth_ == 0)
        mode_ = Document;
      return true;
    }
    if (mode_ == Merges) {
      if (!inMerge_) {
        mode_ = Document;
        return true;
      }
      inMerge_ = false;
      if (parts_.size() != 2)
        return fail("model.merges[" + std::to_string(out_.merges.size()) +
                    "]: a merge is two tokens, here are " + std::to_string(parts_.size()));
      out_.merges.emplace_back(std::move(parts_[0]), std::move(parts_[1]));
      return true;
    }
    stack_.pop_back();
    return true;
  }
  bool parse_error(std::size_t position, const std::string &last,
                   const nlohmann::detail::exception &) override {
    return fail("not valid JSON at byte " + std::to_string(position) + " near " + quoteText(last));
  }

private:
  static constexpr size_t kMaxDepth = 64;
  enum Mode { Document, Vocab, Merges, Skip } mode_ = Document;
  HfFile &out_;
  std::string &error_;
  std::vector<Json *> stack_;
  std::vector<std::string> names_; // keys of the open objects
  std::string key_;
  std::vector<std::string> parts_;
  bool inMerge_ = false;
  size_t skipDepth_ = 0;

  bool fail(std::string what) {
    if (error_.empty())
      error_ = std::move(what);
    return false;
  }
  std::string streamError(const char *what) const {
    return mode_ == Vocab ? "model.vocab: token " + quoteText(key_) + " has " + what + " instead of an id"
                          : "model.merges[" + std::to_string(out_.merges.size()) + "] holds " + what;
  }
  bool atModelMember(const char *name) const {
    return stack_.size() == 2 && stack_[1]->is_object() && names_.size() == 1 && names_[0] == "model" &&
           key_ == name;
  }
  Json *place(Json &&v) {
    if (stack_.empty()) {
      out_.root = std::move(v);
      return &out_.root;
    }
    Json &top = *stack_.back();
    if (top.is_array()) {
      top.push_back(std::move(v));
      return &top.back();
    }
    Json &slot = top[key_];
    slot = std::move(v);
    return &slot;
  }
  bool open(Json &&v) {
    if (stack_.size() >= kMaxDepth)
      return fail("nested too deeply");
    // The name under the root is all that atModelMember asks for.
    if (stack_.size() == 1 && stack_[0]->is_object())
      names_.assign(1, key_);
    stack_.push_back(place(std::move(v)));
    return true;
  }
  bool scalar(Json &&v, const char *what) {
    if (mode_ == Skip)
      return true;
    if (mode_ != Document)
      return fail(streamError(what));
    if (atModelMember("vocab") || atModelMember("merges"))
      return fail("model." + key_ + " is " + what);
    place(std::move(v));
    return true;
  }
  bool integer(int64_t v, Json &&json) {
    if (mode_ != Vocab)
      return scalar(std::move(json), "a number");
    out_.vocab.emplace_back(std::move(key_), v);
    return true;
  }
};

} // namespace

bool readHfFile(std::string_view text, HfFile &out, std::string &error) {
  error.clear();
  Handler handler(out, error);
  if (!Json::sax_parse(text.begin(), text.end(), &handler)) {
    if (error.empty())
      error = "not valid JSON";
    return false;
  }
  if (!out.root.is_object()) {
    error = "not a JSON object";
    return false;
  }
  return true;
}

} // namespace ingot::import_
