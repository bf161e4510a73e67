//===- Topology.cpp -------------------------------------------------------------------------------------===//
#include "runtime/device/cpu/Topology.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sched.h>

namespace ingot::cpu {

static std::string firstLine(const std::string &path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

static double smaller(double a, double b) { return a <= 0 ? b : b <= 0 ? a : std::min(a, b); }

double quotaOfGroup(const std::string &root, const std::string &group) {
  double result = 0;
  std::string at = group;
  for (;;) {
    double quota = 0, period = 0;
    if (std::sscanf(firstLine(root + at + "/cpu.max").c_str(), "%lf %lf", &quota, &period) == 2 &&
        quota > 0 && period > 0)
      result = smaller(result, quota / period);
    size_t slash = at.rfind('/');
    if (slash == std::string::npos || at.empty())
      return result;
    at.resize(slash);
  }
}

static double readQuota() {
  double result = 0;
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    // "0::/path" is version 2; "4:cpu,cpuacct:/path" version 1.
    size_t a = line.find(':'), b = line.find(':', a + 1);
    if (a == std::string::npos || b == std::string::npos)
      continue;
    std::string controllers = line.substr(a + 1, b - a - 1), path = line.substr(b + 1);
    if (path == "/")
      path.clear();
    if (controllers.empty()) {
      result = smaller(result, quotaOfGroup("/sys/fs/cgroup", path));
    } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      // Inside a container the group's own files are at the mount point.
      for (const std::string &base : {"/sys/fs/cgroup/cpu" + path, std::string("/sys/fs/cgroup/cpu")}) {
        double quota = std::atof(firstLine(base + "/cpu.cfs_quota_us").c_str());
        double period = std::atof(firstLine(base + "/cpu.cfs_period_us").c_str());
        if (quota > 0 && period > 0)
          result = smaller(result, quota / period);
      }
    }
  }
  return result;
}

unsigned Topology::usable() const {
  unsigned n = std::max<size_t>(1, cores.size());
  if (quota > 0)
    n = std::min(n, std::max(1u, unsigned(quota)));
  return n;
}

Topology readTopology() {
  Topology t;
  // Larger than any kernel's mask; the call fails with EINVAL only if too small.
  constexpr size_t Count = 8192;
  cpu_set_t *set = CPU_ALLOC(Count);
  size_t bytes = CPU_ALLOC_SIZE(Count);
  if (set && sched_getaffinity(0, bytes, set) == 0)
    for (size_t i = 0; i < Count; ++i)
      if (CPU_ISSET_S(i, bytes, set))
        t.cpus.push_back(int(i));
  CPU_FREE(set);
  if (t.cpus.empty())
    t.cpus.push_back(0);
  std::vector<std::string> seen;
  for (int cpu : t.cpus) {
    std::string siblings =
        firstLine("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
    if (siblings.empty())
      siblings = std::to_string(cpu);
    if (std::find(seen.begin(), seen.end(), siblings) == seen.end()) {
      seen.push_back(siblings);
      t.cores.push_back(cpu);
    }
  }
  t.quota = readQuota();
  return t;
}

} // namespace ingot::cpu
