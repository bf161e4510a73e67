//===- WeightMemory.h - the packed weights of a model, resident -----------------------------------------===//
//
// Anonymous memory with transparent huge pages, filled by parallel reads (a quarter more read bandwidth than
// 4 KB pages under virtualisation), or a read-only mapping of the file. Also the one wrapper around anonymous
// mappings that the runtime uses for its other large buffers.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_WEIGHTS_WEIGHTMEMORY_H
#define INGOT_RUNTIME_WEIGHTS_WEIGHTMEMORY_H

#include "runtime/weights/Source.h"

#include <cstddef>

namespace ingot::weights {

enum class LoadMode {
  Read, ///< Copy into huge pages.
  Map   ///< Map the file, or use the memory of the source.
};

/// Zero-filled anonymous memory, committed on first touch. Move-only.
class Mapping {
public:
  Mapping() = default;
  Mapping(Mapping &&other) noexcept { *this = std::move(other); }
  Mapping &operator=(Mapping &&other) noexcept;
  ~Mapping() { reset(); }

  /// At least `bytes` bytes, 2 MB-aligned where `huge`, else page-aligned. False where the system refuses.
  bool allocate(uint64_t bytes, bool huge);
  void reset();
  uint8_t *data() const { return begin; }
  uint64_t size() const { return bytes; }

private:
  uint8_t *begin = nullptr;
  uint64_t bytes = 0;
  void *raw = nullptr;
  uint64_t rawBytes = 0;
};

class WeightMemory {
public:
  WeightMemory() = default;
  WeightMemory(WeightMemory &&other) noexcept { *this = std::move(other); }
  WeightMemory &operator=(WeightMemory &&other) noexcept;
  ~WeightMemory() { reset(); }

  /// Bytes [offset, offset + bytes) of the source, 64-aligned in memory. Checked against the source's size by
  /// the caller.
  bool load(const Source &source, uint64_t offset, uint64_t bytes, LoadMode mode, unsigned threads,
            std::string &error);
  void reset();
  const uint8_t *data() const { return begin; }
  uint64_t size() const { return bytes; }

private:
  const uint8_t *begin = nullptr;
  uint64_t bytes = 0;
  Mapping owned;
  void *mapped = nullptr;
  uint64_t mappedBytes = 0;
};

} // namespace ingot::weights
#endif
