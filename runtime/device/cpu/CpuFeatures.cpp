//===- CpuFeatures.cpp ----------------------------------------------------------------------------------===//
#include "runtime/device/cpu/CpuFeatures.h"

#include <algorithm>
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ingot::cpu {
namespace {

enum Register { Eax, Ebx, Ecx, Edx };
/// The state that the operating system must save for a feature to be usable.
enum State : uint64_t { None = 0, Ymm = 0x6, Zmm = 0xE6, Tile = 0x60000 };

struct Row {
  const char *name;
  uint32_t leaf, subleaf;
  Register reg;
  int bit;
  uint64_t state;
};

// Intel SDM volume 2, CPUID; leaf 0x80000001 from AMD's manual volume 3.
constexpr Row Rows[] = {
    {"x87", 1, 0, Edx, 0, None},
    {"cx8", 1, 0, Edx, 8, None},
    {"cmov", 1, 0, Edx, 15, None},
    {"mmx", 1, 0, Edx, 23, None},
    {"fxsr", 1, 0, Edx, 24, None},
    {"sse", 1, 0, Edx, 25, None},
    {"sse2", 1, 0, Edx, 26, None},
    {"sse3", 1, 0, Ecx, 0, None},
    {"pclmul", 1, 0, Ecx, 1, None},
    {"ssse3", 1, 0, Ecx, 9, None},
    {"fma", 1, 0, Ecx, 12, Ymm},
    {"cx16", 1, 0, Ecx, 13, None},
    {"sse4.1", 1, 0, Ecx, 19, None},
    {"sse4.2", 1, 0, Ecx, 20, None},
    {"crc32", 1, 0, Ecx, 20, None},
    {"movbe", 1, 0, Ecx, 22, None},
    {"popcnt", 1, 0, Ecx, 23, None},
    {"aes", 1, 0, Ecx, 25, None},
    {"xsave", 1, 0, Ecx, 27, None},
    {"avx", 1, 0, Ecx, 28, Ymm},
    {"f16c", 1, 0, Ecx, 29, Ymm},
    {"rdrnd", 1, 0, Ecx, 30, None},
    {"fsgsbase", 7, 0, Ebx, 0, None},
    {"bmi", 7, 0, Ebx, 3, None},
    {"avx2", 7, 0, Ebx, 5, Ymm},
    {"bmi2", 7, 0, Ebx, 8, None},
    {"invpcid", 7, 0, Ebx, 10, None},
    {"avx512f", 7, 0, Ebx, 16, Zmm},
    {"evex512", 7, 0, Ebx, 16, Zmm},
    {"avx512dq", 7, 0, Ebx, 17, Zmm},
    {"rdseed", 7, 0, Ebx, 18, None},
    {"adx", 7, 0, Ebx, 19, None},
    {"avx512ifma", 7, 0, Ebx, 21, Zmm},
    {"clflushopt", 7, 0, Ebx, 23, None},
    {"clwb", 7, 0, Ebx, 24, None},
    {"avx512cd", 7, 0, Ebx, 28, Zmm},
    {"sha", 7, 0, Ebx, 29, None},
    {"avx512bw", 7, 0, Ebx, 30, Zmm},
    {"avx512vl", 7, 0, Ebx, 31, Zmm},
    {"avx512vbmi", 7, 0, Ecx, 1, Zmm},
    {"pku", 7, 0, Ecx, 3, None},
    {"avx512vbmi2", 7, 0, Ecx, 6, Zmm},
    {"gfni", 7, 0, Ecx, 8, None},
    {"vaes", 7, 0, Ecx, 9, Ymm},
    {"vpclmulqdq", 7, 0, Ecx, 10, Ymm},
    {"avx512vnni", 7, 0, Ecx, 11, Zmm},
    {"avx512bitalg", 7, 0, Ecx, 12, Zmm},
    {"avx512vpopcntdq", 7, 0, Ecx, 14, Zmm},
    {"rdpid", 7, 0, Ecx, 22, None},
    {"amx-bf16", 7, 0, Edx, 22, Tile},
    {"avx512fp16", 7, 0, Edx, 23, Zmm},
    {"amx-tile", 7, 0, Edx, 24, Tile},
    {"amx-int8", 7, 0, Edx, 25, Tile},
    {"avxvnni", 7, 1, Eax, 4, Ymm},
    {"avx512bf16", 7, 1, Eax, 5, Zmm},
    {"amx-fp16", 7, 1, Eax, 21, Tile},
    {"avxifma", 7, 1, Eax, 23, Ymm},
    {"avxvnniint8", 7, 1, Edx, 4, Ymm},
    {"xsaveopt", 13, 1, Eax, 0, None},
    {"xsavec", 13, 1, Eax, 1, None},
    {"xsaves", 13, 1, Eax, 3, None},
    {"sahf", 0x80000001u, 0, Ecx, 0, None},
    {"lzcnt", 0x80000001u, 0, Ecx, 5, None},
    {"prfchw", 0x80000001u, 0, Ecx, 8, None},
    {"64bit", 0x80000001u, 0, Edx, 29, None},
};

uint64_t savedStates() {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 27)))
    return 0;
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t(high) << 32) | low;
}

/// Asks the kernel for the tile data state; true where the process may use it afterwards.
bool grantTiles(bool request) {
  constexpr int GetPermission = 0x1022, RequestPermission = 0x1023;
  constexpr unsigned long TileData = 18;
  unsigned long granted = 0;
  if (request && ::syscall(SYS_arch_prctl, RequestPermission, TileData) != 0)
    return false;
  return ::syscall(SYS_arch_prctl, GetPermission, &granted) == 0 && (granted >> TileData & 1);
}

} // namespace

CpuFeatures CpuFeatures::detect(bool requestAmx) {
  CpuFeatures result;
  uint64_t saved = savedStates();
  bool tiles = (saved & Tile) == Tile && grantTiles(requestAmx);
  for (const Row &row : Rows) {
    unsigned r[4] = {};
    unsigned top = __get_cpuid_max(row.leaf & 0x80000000u, nullptr);
    if (row.leaf > top || !__get_cpuid_count(row.leaf, row.subleaf, &r[Eax], &r[Ebx], &r[Ecx], &r[Edx]))
      continue;
    if (!(r[row.reg] >> row.bit & 1) || (saved & row.state) != row.state || (row.state == Tile && !tiles))
      continue;
    result.names.push_back(row.name);
  }
  std::sort(result.names.begin(), result.names.end());
  unsigned a, b, c, d;
  if (result.has("avx512bf16") && __get_cpuid(0, &a, &b, &c, &d) && b == signature_AMD_ebx)
    result.names.insert(std::upper_bound(result.names.begin(), result.names.end(), "fast-bf16-dot"),
                        "fast-bf16-dot");
  return result;
}

CpuFeatures CpuFeatures::of(std::vector<std::string> names) {
  CpuFeatures result;
  result.names = std::move(names);
  std::sort(result.names.begin(), result.names.end());
  return result;
}

bool CpuFeatures::has(std::string_view name) const {
  return std::binary_search(names.begin(), names.end(), name,
                            [](std::string_view a, std::string_view b) { return a < b; });
}

std::vector<std::string> CpuFeatures::missing(std::string_view list) const {
  std::vector<std::string> result;
  while (!list.empty()) {
    size_t comma = list.find(',');
    std::string_view item = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    while (!item.empty() && (item.front() == '+' || item.front() == ' '))
      item.remove_prefix(1);
    // "-feature" says that the code does without it.
    if (!item.empty() && item.front() != '-' && !has(item))
      result.emplace_back(item);
  }
  return result;
}

int chooseVariant(const std::vector<Variant> &variants, const CpuFeatures &cpu, std::string_view forced,
                  std::string &error) {
  static constexpr std::string_view Order[] = {"amxbf16", "amx",  "avx512bf16", "vnni",
                                               "avx512",  "avx2", "ref"};
  const bool fastDots = cpu.has("fast-bf16-dot");
  auto rank = [&](const Variant &v) {
    // Slow dots make that variant slower than vnni.
    auto at = 2 * (std::find(std::begin(Order), std::end(Order), v.isa) - std::begin(Order));
    return v.isa == "avx512bf16" && !fastDots ? at + 3 : at;
  };
  int best = -1;
  std::string reasons, carried;
  for (size_t i = 0; i < variants.size(); ++i) {
    const Variant &v = variants[i];
    carried += (carried.empty() ? "" : ", ") + v.isa;
    if (!forced.empty() && v.isa != forced)
      continue;
    std::vector<std::string> missing = cpu.missing(v.features);
    if (missing.empty()) {
      if (best < 0 || rank(v) < rank(variants[best]))
        best = int(i);
      continue;
    }
    reasons += "\n  " + v.isa + ": this CPU or its operating system lacks";
    for (const std::string &m : missing)
      reasons += " " + m;
  }
  if (best >= 0)
    return best;
  if (variants.empty())
    error = "no compiled variant is present";
  else if (!forced.empty() && reasons.empty())
    error = "variant '" + std::string(forced) + "' is not carried; there are: " + carried;
  else
    error = "no variant can run here:" + reasons;
  return -1;
}

} // namespace ingot::cpu
