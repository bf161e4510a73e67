//===- Fields.h - Checked access to a model's configuration -----*- C++ -*-===//
//
// Reads config.json (by the `hf` name) or GGUF metadata (by the `gguf` name
// below the architecture's prefix) through one interface, so that a config
// reader is written once. The first fault is kept and every later access
// returns a harmless value: a reader runs to its end and asks ok() before it
// computes with what it read.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_COMPILER_ARCH_FIELDS_H
#define INGOT_COMPILER_ARCH_FIELDS_H

#include "compiler/import/Model.h"
#include "llvm/ADT/StringSet.h"
#include <optional>
#include <string>

namespace ingot::arch {

/// The two names of a field; null where a style has none.
struct Key {
  const char *hf;
  const char *gguf;
};

class Fields {
public:
  explicit Fields(const import_::ModelSource &model) : model_(model) {}

  const import_::ModelSource &model() const { return model_; }
  bool isGguf() const { return model_.gguf() != nullptr; }
  bool ok() const { return error_.empty(); }
  const std::string &error() const { return error_; }

  /// Records a fault of the configuration file; only the first one counts.
  void fail(const llvm::Twine &what);
  /// Records a fault of one field.
  void fail(Key key, const llvm::Twine &what) { fail("field '" + name(key) + "': " + what); }
  /// Records a fault whose text already names its file.
  void failRaw(std::string text);

  /// The field's full name in this model's style.
  std::string name(Key key) const;
  /// Present and not null.
  bool has(Key key) const;

  std::optional<int64_t> optInteger(Key key, int64_t low, int64_t high);
  std::optional<double> optNumber(Key key, double low, double high);
  std::optional<bool> optBoolean(Key key);
  std::optional<std::string> optString(Key key);

  int64_t integer(Key key, int64_t low, int64_t high); // required
  int64_t integer(Key key, int64_t low, int64_t high, int64_t fallback) {
    return optInteger(key, low, high).value_or(fallback);
  }
  double number(Key key, double low, double high); // required
  double number(Key key, double low, double high, double fallback) {
    return optNumber(key, low, high).value_or(fallback);
  }
  bool boolean(Key key, bool fallback) { return optBoolean(key).value_or(fallback); }

  /// An integer that GGUF may also hold per layer: all entries must agree.
  int64_t uniformInteger(Key key, int64_t low, int64_t high);

  /// For fields that are read directly from the file.
  void markUsed(Key key) { use(key); }

  /// Refuses fields that change the result and that no reader of this model
  /// has asked for. Call last.
  void finish();

private:
  const import_::JsonValue *hf(Key key) const;
  std::string gguf(Key key) const;
  void use(Key key);
  template <typename T> std::optional<T> checkRange(Key key, std::optional<T> value, T low, T high);

  const import_::ModelSource &model_;
  std::string error_;
  llvm::StringSet<> used_;
};

} // namespace ingot::arch

#endif // INGOT_COMPILER_ARCH_FIELDS_H
