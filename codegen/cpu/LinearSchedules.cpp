//===- LinearSchedules.cpp - which schedules of a linear kernel there are to try -------------------===//
//
// The schedules of one compile (the model's choice is among them) and all that `ingot tune` may time. All
// give the same bits; which is fastest depends on caches and memory.
//
//===----------------------------------------------------------------------------------------------------===//
#include "codegen/cpu/Linear.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace ingot;
using namespace ingot::cpu;

llvm::SmallVector<LinearSchedule, 2> ingot::cpu::linearSchedules(const LinearSpec &spec,
                                                                 const target::Target &target) {
  llvm::SmallVector<LinearSchedule, 2> all = {chooseLinearSchedule(spec, target)};
  bool quantized = !qfmt::geometry(spec.scheme).isFloat;
  if (spec.fast && spec.scheme == qfmt::Scheme::BF16) {
    LinearSchedule dots = all.front();
    if (target.hasAmxBf16() || spec.amxInSoftware) {
      dots.dot = DotKind::AmxBf16;
      dots.prefetch = 0; // kernels of tiles do not ask ahead
      dots.rows = spec.rows > 0 ? spec.rows : 16;
      dots.panels = 2;
    } else {
      dots.dot = DotKind::Bf16;
      dots.unroll = spec.k % 4 == 0 ? 4 : 2;
      if (spec.rows == 0) {
        dots.rows = 6;
        dots.panels = 4;
      }
    }
    // Rounded, a row takes half the bytes: half of L2 for them, in whole tiles (of 6 rows, or two of 16).
    if (spec.rows == 0)
      dots.chunk = std::clamp<int64_t>(524288 / (spec.k * 2) / 96 * 96, 96, 192);
    // In all classes or none, so that a row's bits do not depend on the batch here either.
    LinearSpec rounded = spec;
    rounded.schedule = dots;
    if (refuseLinear(rounded, target).empty())
      return {dots};
  }
  if (quantized && spec.rows == 0 && (target.hasAmx() || spec.amxInSoftware)) {
    LinearSchedule amx = all.front();
    amx.dot = DotKind::Amx;
    amx.prefetch = 0;
    amx.lanes = 16;
    amx.rows = spec.block;
    all.push_back(amx);
  }
  return all;
}

namespace {

/// Bytes ahead, whatever the machine's latency is.
constexpr int64_t distances[] = {0, 512, 2048, 4096, 8192, 16384, 32768, 65536, 131072};

/// `most` accumulators of one row and panel: registers less what the loop needs beside them.
void addFloat(const LinearSpec &s, const target::Target &t, const LinearSchedule &usual,
              std::vector<LinearSchedule> &out) {
  if (usual.dot == DotKind::AmxBf16)
    return;
  const int64_t most = t.hasAvx512() ? 24 : 6;
  // Panels in flight of up to 256 KB ask for the next ones, whatever the distance.
  const std::optional<qfmt::PanelSize> panel = qfmt::panelSize(s.scheme, s.k);
  const int64_t panelBytes = panel ? panel->bytes : 0;
  for (int64_t panels : {1, 2, 4, 8})
    for (int64_t rows : {1, 2, 3, 4, 6, 8, 12})
      for (int64_t unroll : {1, 2, 4, 8})
        for (int64_t prefetch : distances)
          for (int64_t chunk : {24, 48, 96, 192, 384}) {
            LinearSchedule r = usual;
            r.panels = panels;
            r.rows = rows;
            r.unroll = unroll;
            r.prefetch = prefetch;
            int64_t flight = std::max<int64_t>(s.gate ? 2 : 1, panels);
            if (flight * rows > most || (s.rows == 0 && rows * flight < most / 3))
              continue;
            // In the chunk class on or off; so where the panels in flight ask for the next ones.
            const bool anyDistance = s.rows > 0 && flight * panelBytes > 262144;
            if (!anyDistance && prefetch != 0 && prefetch != 4096)
              continue;
            if (s.rows == 0)
              r.chunk = chunk;
            else if (chunk != 24)
              continue;
            out.push_back(r);
          }
}

void addQuantized(const LinearSpec &s, const target::Target &t, const LinearSchedule &usual,
                  std::vector<LinearSchedule> &out) {
  const int64_t most = t.hasAvx512() ? 12 : 6;
  const bool chunked = s.rows == 0;
  llvm::SmallVector<DotKind, 3> dots = {usual.dot};
  if (usual.dot == DotKind::Vnni)
    dots.push_back(DotKind::Maddubs);
  if (chunked && (t.hasAmx() || s.amxInSoftware))
    dots.push_back(DotKind::Amx);
  // Of an eighth of the usual rows to four times as many, in whole blocks.
  llvm::SmallVector<int64_t, 6> chunks = {usual.chunk};
  for (int64_t eighths : {1, 2, 4, 16, 32})
    if (int64_t rows = usual.chunk * eighths / 8 / s.block * s.block; chunked && rows >= s.block)
      chunks.push_back(std::min<int64_t>(rows, 4096 / s.block * s.block));
  llvm::SmallVector<int64_t, 8> ahead;
  // The chunk class asks ahead for the first block of rows alone.
  for (int64_t distance : distances)
    if (!chunked || distance == 0 || distance == 4096 || distance == 16384 || distance == 65536)
      ahead.push_back(distance);
  for (DotKind dot : dots)
    for (int64_t rows = std::min(most, s.block); rows >= 1; --rows)
      for (int64_t prefetch : ahead)
        for (int64_t chunk : chunks) {
          LinearSchedule r = usual;
          r.dot = dot;
          r.rows = rows;
          r.prefetch = prefetch;
          r.chunk = chunk;
          if (dot == DotKind::Amx && rows != s.block)
            continue;
          if (dot == DotKind::Amx)
            r.prefetch = 0;
          // A smaller tile unpacks the weights more often.
          if (s.block % rows == 0 && rows * 4 >= std::min(most, s.block))
            out.push_back(r);
        }
}

} // namespace

std::vector<LinearSchedule> ingot::cpu::allLinearSchedules(const LinearSpec &spec,
                                                           const target::Target &target) {
  llvm::SmallVector<LinearSchedule, 2> usual = linearSchedules(spec, target);
  std::vector<LinearSchedule> all(usual.begin(), usual.end());
  if (qfmt::geometry(spec.scheme).isFloat)
    addFloat(spec, target, usual.front(), all);
  else if (spec.block >= 1 && spec.block <= 16)
    addQuantized(spec, target, usual.front(), all);
  std::vector<LinearSchedule> unique;
  for (const LinearSchedule &s : all)
    if (!llvm::is_contained(unique, s))
      unique.push_back(s);
  return unique;
}
