//===- Embed.h - rows of an embedding table -------------------------------------------------------===//
#ifndef INGOT_CODEGEN_CPU_EMBED_H
#define INGOT_CODEGEN_CPU_EMBED_H

#include "codegen/cpu/KernelBuilder.h"
#include "dialects/qfmt/Geometry.h"

#include <string>

namespace ingot::cpu {

/// y[row] = table[token of row] dequantized as the scheme's reference does, times `scale`. Slots: y. Weights:
/// the table in layout n16. Parts share the rows.
struct EmbedSpec {
  int64_t n = 0; ///< tokens
  int64_t k = 0; ///< columns
  qfmt::Scheme scheme = qfmt::Scheme::F32;
  float scale = 1;
};

/// Empty when emitEmbed can do it, else the reason.
std::string refuseEmbed(const EmbedSpec &spec);
void emitEmbed(KernelBuilder &k, const EmbedSpec &spec);

} // namespace ingot::cpu

#endif
