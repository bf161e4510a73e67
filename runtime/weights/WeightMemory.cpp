//===- WeightMemory.cpp ---------------------------------------------------------------------------------===//
#include "runtime/weights/WeightMemory.h"

#include <atomic>
#include <mutex>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace ingot::weights {

static constexpr uint64_t HugePage = UINT64_C(2) << 20;
static constexpr uint64_t ReadBlock = UINT64_C(4) << 20;

Mapping &Mapping::operator=(Mapping &&other) noexcept {
  if (this != &other) {
    reset();
    begin = std::exchange(other.begin, nullptr);
    bytes = std::exchange(other.bytes, 0);
    raw = std::exchange(other.raw, nullptr);
    rawBytes = std::exchange(other.rawBytes, 0);
  }
  return *this;
}

bool Mapping::allocate(uint64_t wanted, bool huge) {
  reset();
  if (wanted == 0)
    wanted = 1;
  if (wanted > (UINT64_C(1) << 46))
    return false;
  uint64_t total = huge ? wanted + HugePage : wanted;
  void *p =
      ::mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    return false;
  raw = p;
  rawBytes = total;
  auto address = reinterpret_cast<uintptr_t>(p);
  if (huge) {
    address = (address + HugePage - 1) & ~uintptr_t(HugePage - 1);
    // Refusal only costs speed.
    (void)::madvise(reinterpret_cast<void *>(address), wanted, MADV_HUGEPAGE);
  }
  begin = reinterpret_cast<uint8_t *>(address);
  bytes = wanted;
  return true;
}

void Mapping::reset() {
  if (raw)
    ::munmap(raw, rawBytes);
  begin = nullptr;
  raw = nullptr;
  bytes = rawBytes = 0;
}

WeightMemory &WeightMemory::operator=(WeightMemory &&other) noexcept {
  if (this != &other) {
    reset();
    begin = std::exchange(other.begin, nullptr);
    bytes = std::exchange(other.bytes, 0);
    owned = std::move(other.owned);
    mapped = std::exchange(other.mapped, nullptr);
    mappedBytes = std::exchange(other.mappedBytes, 0);
  }
  return *this;
}

void WeightMemory::reset() {
  if (mapped)
    ::munmap(mapped, mappedBytes);
  owned.reset();
  begin = nullptr;
  mapped = nullptr;
  bytes = mappedBytes = 0;
}

bool WeightMemory::load(const Source &source, uint64_t offset, uint64_t count, LoadMode mode,
                        unsigned threads, std::string &error) {
  reset();
  bytes = count;
  if (mode == LoadMode::Map && count > 0) {
    const uint8_t *memory = source.memory();
    if (memory && (reinterpret_cast<uintptr_t>(memory + offset) & 63) == 0) {
      begin = memory + offset;
      return true;
    }
    uint64_t page = uint64_t(::sysconf(_SC_PAGESIZE));
    if (source.descriptor() >= 0 && offset % page == 0) {
      void *p = ::mmap(nullptr, count, PROT_READ, MAP_PRIVATE, source.descriptor(), off_t(offset));
      if (p == MAP_FAILED) {
        error = source.name() + ": cannot map " + std::to_string(count) + " bytes of weights";
        return false;
      }
      mapped = p;
      mappedBytes = count;
      begin = static_cast<const uint8_t *>(p);
      return true;
    }
    // Unaligned: copy below.
  }
  if (!owned.allocate(count, count >= HugePage)) {
    error = source.name() + ": no memory for " + std::to_string(count) + " bytes of weights";
    return false;
  }
  begin = owned.data();

  // Readers take blocks in order: page faults of fresh memory cost more than the copy, and both scale.
  std::atomic<uint64_t> next{0};
  std::mutex mutex;
  std::string firstError;
  auto reader = [&] {
    for (;;) {
      uint64_t at = next.fetch_add(ReadBlock, std::memory_order_relaxed);
      if (at >= count)
        return;
      uint64_t n = count - at < ReadBlock ? count - at : ReadBlock;
      std::string message;
      if (!source.read(offset + at, owned.data() + at, n, message)) {
        std::lock_guard<std::mutex> lock(mutex);
        if (firstError.empty())
          firstError = message;
        next.store(count, std::memory_order_relaxed);
        return;
      }
    }
  };
  uint64_t blocks = (count + ReadBlock - 1) / ReadBlock;
  std::vector<std::thread> helpers;
  for (unsigned i = 1; i < threads && i < blocks && i < 64; ++i)
    helpers.emplace_back(reader);
  reader();
  for (std::thread &t : helpers)
    t.join();
  if (!firstError.empty()) {
    error = firstError;
    return false;
  }
  return true;
}

} // namespace ingot::weights
