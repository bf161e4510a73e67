//===- Topology.h - how many cores this process may keep busy -------------------------------------------===//
//
// Cores of the affinity mask (one per set of hardware threads), capped by the CPU quota of the process's
// control group and every group above it. Read once by whoever creates workers.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_DEVICE_CPU_TOPOLOGY_H
#define INGOT_RUNTIME_DEVICE_CPU_TOPOLOGY_H

#include <string>
#include <vector>

namespace ingot::cpu {

struct Topology {
  std::vector<int> cpus;  ///< CPUs that the calling thread may run on, ascending.
  std::vector<int> cores; ///< The first CPU of each core among them.
  double quota = 0;       ///< CPUs' worth of time that control groups allow; 0: unlimited.

  /// Cores that may spin at the same time: at least 1.
  unsigned usable() const;
};

Topology readTopology();

/// The smallest quota of a version 2 group and its parents ("cpu.max" files below `root`), in CPUs; 0: none.
double quotaOfGroup(const std::string &root, const std::string &group);

} // namespace ingot::cpu
#endif
