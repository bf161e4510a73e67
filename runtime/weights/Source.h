//===- Source.h - where the bytes of a pack come from ---------------------------------------------------===//
//
// A file or memory, read at offsets. Reads are thread-safe and either complete or fail with a message.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_WEIGHTS_SOURCE_H
#define INGOT_RUNTIME_WEIGHTS_SOURCE_H

#include <cstdint>
#include <memory>
#include <string>

namespace ingot::weights {

class Source {
public:
  virtual ~Source() = default;
  /// Name for messages: the path, or what the caller of memory() said.
  virtual const std::string &name() const = 0;
  virtual uint64_t size() const = 0;
  /// Copies [offset, offset + bytes) to `dst`. The range lies inside the source.
  virtual bool read(uint64_t offset, void *dst, uint64_t bytes, std::string &error) const = 0;
  /// The bytes themselves where the source is memory, else null.
  virtual const uint8_t *memory() const { return nullptr; }
  /// The descriptor where the source is a file, else -1.
  virtual int descriptor() const { return -1; }
};

/// Opens a regular file for reading; null and a message on failure. `name` is used in messages in place of
/// the path where it is not empty.
std::unique_ptr<Source> openFile(const std::string &path, std::string &error, std::string name = {});

/// A source over memory that outlives it.
std::unique_ptr<Source> fromMemory(const uint8_t *data, uint64_t size, std::string name);

} // namespace ingot::weights
#endif
