//===- Attention.cpp - scalar specification of attention ------------------------------------------------===//
#include "codegen/cpu/spec/Attention.h"
#include "codegen/cpu/spec/Math.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ingot::spec {

static constexpr float kNegInf = -std::numeric_limits<float>::infinity();

AttentionState attendSegment(const AttentionSpecParams &s, const float *q, int64_t head, int64_t p,
                             int64_t segment, const std::vector<const uint8_t *> &pages) {
  const KvLayout &kv = s.kv;
  std::vector<float> qs(kv.dim);
  for (int64_t d = 0; d < kv.dim; ++d)
    qs[d] = q[d] * s.scale;
  AttentionState st{kNegInf, 0.0f, std::vector<float>(kv.vDim, 0.0f)};
  int64_t kmin = firstKey(p, s.window);
  for (int64_t b = segment * kAttnSegment; b < (segment + 1) * kAttnSegment; b += kAttnBlock) {
    if (b > p || b + kAttnBlock <= kmin)
      continue;
    float score[kAttnBlock], mNew = st.m;
    for (int64_t k = 0; k < kAttnBlock; ++k) {
      score[k] = kNegInf;
      if (b + k < kmin || b + k > p)
        continue;
      const uint8_t *page = pages[(b + k) / kKvPage];
      float acc = 0.0f;
      for (int64_t d = 0; d < kv.dim; ++d)
        acc = std::fma(qs[d], kvLoad(page, kv.kIndex(head, d, (b + k) % kKvPage), kv.type), acc);
      if (kv.scaled())
        acc = acc * kvScaleK(page, kv, head, (b + k) % kKvPage);
      if (s.softcap > 0.0f)
        acc = softcap(acc, s.softcap);
      score[k] = acc;
      mNew = maxOf(acc, mNew);
    }
    float alpha = exp(st.m - mNew); // 0 for the first block: exp(-inf)
    float prob[kAttnBlock], lanes[16] = {};
    for (int64_t k = 0; k < kAttnBlock; ++k) {
      prob[k] = exp(score[k] - mNew);
      lanes[k % 16] = k < 16 ? prob[k] : lanes[k % 16] + prob[k];
    }
    st.l = std::fma(st.l, alpha, tree16(lanes));
    for (int64_t d = 0; d < kv.vDim; ++d)
      st.o[d] = st.o[d] * alpha;
    for (int64_t k = std::max<int64_t>(0, kmin - b); k < kAttnBlock && b + k <= p; ++k) {
      const uint8_t *page = pages[(b + k) / kKvPage];
      float weight = kv.scaled() ? prob[k] * kvScaleV(page, kv, head, (b + k) % kKvPage) : prob[k];
      for (int64_t d = 0; d < kv.vDim; ++d)
        st.o[d] = std::fma(weight, kvLoad(page, kv.vIndex(head, d, (b + k) % kKvPage), kv.type), st.o[d]);
    }
    st.m = mNew;
  }
  return st;
}

void mergeSegment(AttentionState &acc, const AttentionState &next) {
  if (next.m == kNegInf)
    return;
  if (acc.m == kNegInf) {
    acc = next;
    return;
  }
  float m = maxOf(next.m, acc.m);
  float a = exp(acc.m - m), b = exp(next.m - m);
  acc.l = std::fma(next.l, b, acc.l * a);
  for (size_t d = 0; d < acc.o.size(); ++d)
    acc.o[d] = std::fma(next.o[d], b, acc.o[d] * a);
  acc.m = m;
}

void attendRow(const AttentionSpecParams &s, const float *q, int64_t p,
               const std::vector<const uint8_t *> &pages, float *out) {
  int64_t group = s.qHeads / s.kv.heads;
  for (int64_t h = 0; h < s.qHeads; ++h) {
    AttentionState acc{kNegInf, 0.0f, std::vector<float>(s.kv.vDim, 0.0f)};
    for (int64_t seg = firstKey(p, s.window) / kAttnSegment; seg <= p / kAttnSegment; ++seg)
      mergeSegment(acc, attendSegment(s, q + h * s.kv.dim, h / group, p, seg, pages));
    for (int64_t d = 0; d < s.kv.vDim; ++d)
      out[h * s.kv.vDim + d] = acc.o[d] / acc.l + 0.0f;
  }
}

} // namespace ingot::spec
