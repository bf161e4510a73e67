//===- ProfileText.cpp - profiles as tables and as JSON -------------------------------------------------===//

#include "runtime/main/ProfileText.h"

#include <algorithm>
#include <cstdio>

namespace ingot::main_ {
namespace {

using Json = nlohmann::ordered_json;

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.0f%%", 100 * share);
  return text;
}

/// "-" for what a kernel has none of.
std::string rate(double amount, double seconds) {
  char text[32];
  double value = seconds > 0 ? amount / seconds / 1e9 : 0;
  std::snprintf(text, sizeof(text), value < 10 ? "%.1f" : "%.0f", value);
  return amount > 0 ? text : "-";
}

void printRow(const KernelProfile &kernel, const MeasuredTest &measured, int width) {
  Nearness near = nearness(kernel, measured.limits);
  double ops = kernel.work.ops();
  std::printf("%-*s %5u %9.3f %6s %6.2f %7s %6s %7s %6s %7.3f  %s\n", width, kernel.name.c_str(),
              kernel.launches, 1e3 * kernel.seconds, percent(kernel.seconds / measured.profile.wall).c_str(),
              kernel.seconds > 0 ? kernel.slowest / kernel.seconds : 1.0,
              rate(kernel.work.bytes(), kernel.seconds).c_str(), percent(near.read).c_str(),
              rate(ops, kernel.seconds).c_str(),
              ops > 0 ? percent(std::max({near.int8, near.f32, near.bf16})).c_str() : "-",
              1e3 * kernel.barrier, near.limit);
}

Json rowJson(const KernelProfile &kernel, const MeasuredTest &measured) {
  Nearness near = nearness(kernel, measured.limits);
  Json object = {{"name", kernel.name}};
  if (kernel.name != kernel.family)
    object["family"] = kernel.family;
  if (!kernel.shape.empty())
    object["shape"] = kernel.shape;
  object.update({{"launches", kernel.launches},
                 {"seconds", kernel.seconds},
                 {"slowest_seconds", kernel.slowest},
                 {"barrier_seconds", kernel.barrier},
                 {"weight_bytes", kernel.work.weightBytes},
                 {"activation_bytes", kernel.work.rowBytes},
                 {"kv_bytes", kernel.work.kvBytes},
                 {"int8_ops", kernel.work.int8Ops},
                 {"f32_ops", kernel.work.f32Ops},
                 {"bf16_ops", kernel.work.bf16Ops},
                 {"of_read", near.read},
                 {"of_int8", near.int8},
                 {"of_f32", near.f32},
                 {"of_bf16", near.bf16},
                 {"of_barrier", near.barrier},
                 {"near", near.limit}});
  return object;
}

} // namespace

void printProfile(const MeasuredTest &measured) {
  const Profile &profile = measured.profile;
  const cpu::MachineLimits &limits = measured.limits;
  std::printf("%s: %u threads, %s, program of %lld rows\n", measured.test.c_str(), profile.threads,
              measured.isa.c_str(), static_cast<long long>(measured.mClass));
  std::printf("step %.3f ms (median of %zu), %.1f tokens/s\n", 1e3 * profile.wall, profile.steps,
              static_cast<double>(measured.tokens()) / profile.wall);
  std::printf("limits: read %.1f GB/s (%.1f MB, prefetch %zu), int8 %.0f Gop/s (%s), f32 %.0f Gop/s",
              limits.readBytes / 1e9, static_cast<double>(limits.bytes) / 1e6, limits.prefetch,
              limits.int8Ops / 1e9, limits.int8, limits.f32Ops / 1e9);
  if (limits.bf16Ops > 0)
    std::printf(", bf16 %.0f Gop/s", limits.bf16Ops / 1e9);
  std::printf("\n");
  size_t width = 8;
  for (const KernelProfile &kernel : profile.kernels)
    width = std::max(width, kernel.name.size());
  int w = static_cast<int>(width);
  auto header = [w](const char *first) {
    std::printf("%-*s %5s %9s %6s %6s %7s %6s %7s %6s %7s  %s\n", w, first, "calls", "ms/step", "share",
                "max/av", "GB/s", "of max", "Gop/s", "of max", "wait ms", "near");
  };
  header("kernel");
  for (const KernelProfile &kernel : profile.kernels)
    printRow(kernel, measured, w);
  header("family");
  for (const KernelProfile &family : profile.families)
    printRow(family, measured, w);
  std::printf("%9s %6s %6s %9s %9s  barriers after\n", "ms/step", "share", "count", "us each", "latency");
  for (const StageProfile &stage : profile.stages)
    std::printf("%9.3f %6s %6u %9.2f %9.2f  %s\n", 1e3 * stage.wait,
                percent(stage.wait / profile.wall).c_str(), stage.count, 1e6 * stage.wait / stage.count,
                1e6 * stage.latency / stage.count, stage.label.c_str());
  std::printf(
      "kernels %.3f ms (%s) + barriers %.3f ms (%s: imbalance %.3f, latency %.3f) = %.1f%% of the step; rest "
      "%.3f ms\n\n",
      1e3 * profile.kernelSeconds, percent(profile.kernelSeconds / profile.wall).c_str(),
      1e3 * profile.waitSeconds, percent(profile.waitSeconds / profile.wall).c_str(),
      1e3 * (profile.waitSeconds - profile.latencySeconds), 1e3 * profile.latencySeconds,
      100 * profile.explained(), 1e3 * profile.restSeconds);
}

Json profileJson(const MeasuredTest &measured) {
  const Profile &profile = measured.profile;
  Json kernels = Json::array(), families = Json::array(), stages = Json::array();
  for (const KernelProfile &kernel : profile.kernels)
    kernels.push_back(rowJson(kernel, measured));
  for (const KernelProfile &family : profile.families)
    families.push_back(rowJson(family, measured));
  for (const StageProfile &stage : profile.stages)
    stages.push_back({{"after", stage.label},
                      {"count", stage.count},
                      {"wait_seconds", stage.wait},
                      {"latency_seconds", stage.latency}});
  const cpu::MachineLimits &limits = measured.limits;
  return {{"test", measured.test},
          {"n_prompt", measured.prompt},
          {"n_batch", measured.batch},
          {"n_depth", measured.depth},
          {"n_threads", profile.threads},
          {"isa", measured.isa},
          {"m_class", measured.mClass},
          {"steps", profile.steps},
          {"limits",
           {{"bytes", limits.bytes},
            {"read_bytes_per_second", limits.readBytes},
            {"prefetch", limits.prefetch},
            {"int8_ops_per_second", limits.int8Ops},
            {"int8", limits.int8},
            {"f32_ops_per_second", limits.f32Ops},
            {"bf16_ops_per_second", limits.bf16Ops}}},
          {"step_seconds", profile.wall},
          {"kernel_seconds", profile.kernelSeconds},
          {"barrier_seconds", profile.waitSeconds},
          {"barrier_latency_seconds", profile.latencySeconds},
          {"rest_seconds", profile.restSeconds},
          {"explained", profile.explained()},
          {"kernels", std::move(kernels)},
          {"families", std::move(families)},
          {"barriers", std::move(stages)}};
}

} // namespace ingot::main_
