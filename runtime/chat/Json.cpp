// JSON text to values that keep integers of any size (see Template.h). Never throws.
#include "runtime/chat/Template.h"

#include "runtime/chat/Text.h"

namespace ingot::chat {

namespace {
constexpr size_t kMaxDepth = 200;

/// Builds the document; the parser itself is not recursive.
class Builder : public nlohmann::json_sax<nlohmann::ordered_json> {
public:
  using Json = nlohmann::ordered_json;
  Builder(Json &r, std::string &e) : root(r), error(e) {}

  bool null() override { return put(nullptr); }
  bool boolean(bool v) override { return put(v); }
  bool number_integer(number_integer_t v) override { return put(v); }
  bool number_unsigned(number_unsigned_t v) override { return put(v); }
  bool number_float(number_float_t v, const string_t &text) override {
    if (text.find_first_of(".eE") != std::string::npos)
      return put(v);
    // An integer that does not fit: keep its digits.
    return put(Json::binary(std::vector<uint8_t>(text.begin(), text.end()), kBigIntSubtype));
  }
  bool string(string_t &v) override { return put(std::move(v)); }
  bool binary(binary_t &) override { return false; }
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t &v) override {
    pendingKey = std::move(v);
    return true;
  }
  bool parse_error(size_t position, const std::string &, const nlohmann::detail::exception &) override {
    error = "malformed JSON at byte " + std::to_string(position);
    return false;
  }

private:
  Json *place(Json value) {
    if (stack.empty()) {
      root = std::move(value);
      return &root;
    }
    Json &parent = *stack.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    Json &slot = parent[pendingKey];
    slot = std::move(value);
    return &slot;
  }
  bool put(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json value) {
    if (stack.size() >= kMaxDepth) {
      error = "JSON nested more than " + std::to_string(kMaxDepth) + " levels deep";
      return false;
    }
    stack.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    stack.pop_back();
    return true;
  }

  Json &root;
  std::string &error;
  std::vector<Json *> stack;
  std::string pendingKey;
};
} // namespace

bool parseJson(std::string_view text, nlohmann::ordered_json &out, std::string &error) {
  error.clear();
  size_t bad = findInvalidUtf8(text);
  if (bad != std::string_view::npos) {
    error = "JSON text is not valid UTF-8 (byte " + std::to_string(bad) + ")";
    return false;
  }
  out = nullptr;
  Builder builder(out, error);
  if (nlohmann::ordered_json::sax_parse(text.begin(), text.end(), &builder))
    return true;
  if (error.empty())
    error = "malformed JSON";
  out = nullptr;
  return false;
}

} // namespace ingot::chat
