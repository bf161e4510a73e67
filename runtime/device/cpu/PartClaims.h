//===- PartClaims.h - pieces of one launch for whoever is free ------------------------------------------===//
//
// Every worker starts with an equal range of pieces of a launch. It takes half of what is left of it, then
// half of the rest, and so on, so that a range that nobody disturbs takes a few calls; a worker that is done
// takes from the far end of the range of the one that has most left. So a launch ends when its work does, not
// when the slowest worker is through with its share. Sizes are powers of two and ranges aligned to them, for
// a kernel's parts are equal: n pieces of m are part i of m / n.
//
// A range is one word: the launch's turn, first piece, behind the last. Turns ascend, so a word of an earlier
// turn says that its worker has not come yet; others may then open its range for it and leave it the rest.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_DEVICE_CPU_PARTCLAIMS_H
#define INGOT_RUNTIME_DEVICE_CPU_PARTCLAIMS_H

#include <atomic>
#include <cstdint>
#include <memory>

namespace ingot::cpu {

class PartClaims {
public:
  static constexpr uint32_t MaxPieces = 128;

  explicit PartClaims(unsigned workers) : count(workers), ranges(new Range[workers]) {}

  /// Calls fn(part, parts) until no piece of launch `turn` is left to take: together the workers' calls cover
  /// workers * pieces pieces, each once. To be called by every worker for the same launches in the same
  /// order, between barriers at will; turns ascend from 1 and have 48 bits. `pieces`: of a worker, a power of
  /// two. `single`: every call is one piece, part i of workers * pieces.
  template <typename Fn> void run(unsigned worker, uint64_t turn, uint32_t pieces, bool single, Fn &&fn) {
    const uint32_t parts = count * pieces;
    uint32_t first, size;
    open(worker, turn, pieces);
    while (takeOwn(worker, turn, single, first, size))
      fn((worker * pieces + first) / size, parts / size);
    for (unsigned victim; (victim = fullest(worker, turn, pieces)) != count;)
      if (takeFrom(victim, turn, pieces, single, first, size))
        fn((victim * pieces + first) / size, parts / size);
  }

private:
  struct alignas(64) Range {
    std::atomic<uint64_t> word{0};
  };
  static uint64_t pack(uint64_t turn, uint32_t lo, uint32_t hi) { return turn << 16 | lo << 8 | hi; }
  static uint64_t turnOf(uint64_t word) { return word >> 16; }
  static uint32_t loOf(uint64_t word) { return uint32_t(word >> 8) & 0xff; }
  static uint32_t hiOf(uint64_t word) { return uint32_t(word) & 0xff; }

  void open(unsigned worker, uint64_t turn, uint32_t pieces);
  bool takeOwn(unsigned worker, uint64_t turn, bool single, uint32_t &first, uint32_t &size);
  /// The other worker with most pieces left, or `count`.
  unsigned fullest(unsigned worker, uint64_t turn, uint32_t pieces) const;
  /// False where somebody else was faster.
  bool takeFrom(unsigned victim, uint64_t turn, uint32_t pieces, bool single, uint32_t &first,
                uint32_t &size);
  /// What is left of a range that its worker may not have opened.
  static uint32_t leftOf(uint64_t word, uint64_t turn, uint32_t pieces);

  unsigned count;
  std::unique_ptr<Range[]> ranges;
};

} // namespace ingot::cpu
#endif
