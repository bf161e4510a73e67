#include "compiler/import/Json.h"
#include "compiler/import/Fault.h"
#include "compiler/import/FileView.h"
#include <nlohmann/json.hpp>

namespace ingot::import_ {

llvm::StringRef JsonValue::kindName() const {
  switch (kind_) {
  case Kind::Null:
    return "null";
  case Kind::Bool:
    return "a boolean";
  case Kind::Int:
    return "an integer";
  case Kind::Double:
    return "a number";
  case Kind::String:
    return "a string";
  case Kind::Array:
    return "an array";
  case Kind::Object:
    return "an object";
  }
  return "";
}

std::optional<bool> JsonValue::boolean() const {
  return kind_ == Kind::Bool ? std::optional<bool>(int_ != 0) : std::nullopt;
}

std::optional<int64_t> JsonValue::integer() const {
  return kind_ == Kind::Int ? std::optional<int64_t>(int_) : std::nullopt;
}

std::optional<double> JsonValue::number() const {
  if (kind_ == Kind::Int)
    return static_cast<double>(int_);
  return kind_ == Kind::Double ? std::optional<double>(double_) : std::nullopt;
}

const JsonValue *JsonValue::get(llvm::StringRef key) const {
  if (kind_ != Kind::Object)
    return nullptr;
  auto it = object_.find(std::string_view(key.data(), key.size()));
  return it == object_.end() ? nullptr : &it->second;
}

namespace {

/// Builds a JsonValue from parser events. The stack holds the open containers;
/// they stay in place while open, because only the innermost one grows.
class Builder {
public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  explicit Builder(JsonLimits limits) : limits(limits) {}

  bool null() { return put(JsonValue()); }
  bool boolean(bool v) { return put(JsonValue(v)); }
  bool number_integer(number_integer_t v) { return put(JsonValue(static_cast<int64_t>(v))); }
  bool number_unsigned(number_unsigned_t v) {
    if (v <= static_cast<uint64_t>(INT64_MAX))
      return put(JsonValue(static_cast<int64_t>(v)));
    return put(JsonValue(static_cast<double>(v)));
  }
  bool number_float(number_float_t v, const string_t &) { return put(JsonValue(static_cast<double>(v))); }
  bool string(string_t &v) { return put(JsonValue(std::move(v))); }
  bool binary(binary_t &) { return false; }
  bool start_object(size_t) { return put(JsonValue(JsonValue::Object())); }
  bool start_array(size_t) { return put(JsonValue(JsonValue::Array())); }
  bool end_object() { return pop(); }
  bool end_array() { return pop(); }
  bool key(string_t &v) {
    JsonValue::Object &object = *stack.back()->object();
    auto [it, isNew] = object.try_emplace(std::move(v));
    if (!isNew) {
      error = "duplicate key '" + printable(it->first) + "' in a JSON object";
      return false;
    }
    slot = &it->second;
    return true;
  }
  bool parse_error(size_t position, const std::string &, const nlohmann::detail::exception &) {
    error = "not valid JSON (at byte " + std::to_string(position) + ")";
    return false;
  }

  JsonValue root;
  std::string error;

private:
  bool put(JsonValue value) {
    if (++count > limits.values) {
      error = "JSON with more than " + std::to_string(limits.values) + " values";
      return false;
    }
    bool opens = value.array() || value.object();
    if (opens && stack.size() >= limits.depth) {
      error = "JSON nested deeper than " + std::to_string(limits.depth) + " levels";
      return false;
    }
    JsonValue *place = &root;
    if (!stack.empty()) {
      if (JsonValue::Array *array = stack.back()->array()) {
        array->emplace_back();
        place = &array->back();
      } else {
        place = slot;
      }
    }
    *place = std::move(value);
    if (opens)
      stack.push_back(place);
    return true;
  }
  bool pop() {
    stack.pop_back();
    return true;
  }

  JsonLimits limits;
  std::vector<JsonValue *> stack;
  JsonValue *slot = nullptr;
  size_t count = 0;
};

} // namespace

llvm::Expected<JsonValue> parseJson(llvm::StringRef where, llvm::StringRef text, JsonLimits limits) {
  Builder builder(limits);
  bool ok = nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  if (!ok)
    return fault(where, builder.error.empty() ? std::string("not valid JSON") : builder.error);
  return std::move(builder.root);
}

llvm::Expected<JsonValue> parseJsonObjectFile(llvm::StringRef path, uint64_t maxBytes) {
  auto file = viewFile(path, maxBytes);
  if (!file)
    return file.takeError();
  if ((*file)->getBufferSize() == 0)
    return fault(path, "the file is empty");
  auto value = parseJson(path, (*file)->getBuffer());
  if (value && !value->object())
    return fault(path, "expected a JSON object, found " + value->kindName());
  return value;
}

} // namespace ingot::import_
