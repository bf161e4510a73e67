//===- Json.h - Bounded JSON documents --------------------------*- C++ -*-===//
//
// The JSON of model files: config.json, safetensors headers, index files. They
// are untrusted, so parsing is iterative, bounds the nesting and the number of
// values, and refuses a key that occurs twice in one object (two readers could
// otherwise see two different models in one file).
//
// Invariant: integers that fit int64_t are kept exactly; every other number is
// a double.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_IMPORT_JSON_H
#define INGOT_COMPILER_IMPORT_JSON_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ingot::import_ {

class JsonValue {
public:
  enum class Kind { Null, Bool, Int, Double, String, Array, Object };
  using Array = std::vector<JsonValue>;
  using Object = std::map<std::string, JsonValue, std::less<>>;

  JsonValue() = default;
  explicit JsonValue(bool v) : kind_(Kind::Bool), int_(v) {}
  explicit JsonValue(int64_t v) : kind_(Kind::Int), int_(v) {}
  explicit JsonValue(double v) : kind_(Kind::Double), double_(v) {}
  explicit JsonValue(std::string v) : kind_(Kind::String), string_(std::move(v)) {}
  explicit JsonValue(Array v) : kind_(Kind::Array), array_(std::move(v)) {}
  explicit JsonValue(Object v) : kind_(Kind::Object), object_(std::move(v)) {}

  Kind kind() const { return kind_; }
  bool isNull() const { return kind_ == Kind::Null; }
  /// The kind as a word of English for messages: "an object", "a string", ...
  llvm::StringRef kindName() const;

  std::optional<bool> boolean() const;
  std::optional<int64_t> integer() const;
  /// Any number, integers included.
  std::optional<double> number() const;
  const std::string *string() const { return kind_ == Kind::String ? &string_ : nullptr; }
  const Array *array() const { return kind_ == Kind::Array ? &array_ : nullptr; }
  const Object *object() const { return kind_ == Kind::Object ? &object_ : nullptr; }
  Array *array() { return kind_ == Kind::Array ? &array_ : nullptr; }
  Object *object() { return kind_ == Kind::Object ? &object_ : nullptr; }

  /// Member `key` of an object; null if absent or if this is no object.
  const JsonValue *get(llvm::StringRef key) const;

private:
  Kind kind_ = Kind::Null;
  int64_t int_ = 0;
  double double_ = 0;
  std::string string_;
  Array array_;
  Object object_;
};

/// Limits of a document; the defaults suit every file that Ingot reads.
struct JsonLimits {
  unsigned depth = 64;
  size_t values = 2000000;
};

/// Parses `text`. `where` names the file (and part) in messages.
llvm::Expected<JsonValue> parseJson(llvm::StringRef where, llvm::StringRef text, JsonLimits limits = {});

/// Reads and parses a file of at most `maxBytes` bytes that must hold an object.
llvm::Expected<JsonValue> parseJsonObjectFile(llvm::StringRef path, uint64_t maxBytes = 64u << 20);

} // namespace ingot::import_

#endif // INGOT_COMPILER_IMPORT_JSON_H
