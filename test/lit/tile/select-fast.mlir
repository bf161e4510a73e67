// RUN: ingot-opt %s --tile-select=isa=avx512bf16 | FileCheck %s --check-prefix=DOTS
// RUN: ingot-opt %s --tile-select=isa=vnni | FileCheck %s --check-prefix=FMA
// RUN: ingot-opt %s --tile-select=isa=vnni | FileCheck %s --check-prefix=VNNI
// RUN: sed 's/, numerics = #llm.numerics<fast>//' %s | ingot-opt --tile-select=isa=avx512bf16 | FileCheck %s --check-prefix=FMA

// Under fast numerics bf16 weights meet rounded activations where the target has dots for them, in all classes; other
// float weights and other targets do not.

llm.config "t" arch "llama" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 64 : i64, vocab = 64 : i64, numerics = #llm.numerics<fast>}

// DOTS-LABEL: tile.kernel @one
// DOTS: reason = "linear bf16
// DOTS: tile.dot bf16
// FMA-LABEL: tile.kernel @one
// VNNI-LABEL: tile.kernel @one
// VNNI-SAME: refused = ["linear bf16: target vnni has no AVX512-BF16"]
// FMA: tile.dot fma
tile.kernel @one linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, bf16, row>)
    attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  tile.grid panels 4 {
    %0 = tile.dot undecided %x, %w : !tile.rows<64>, !qfmt.packed<64x64, bf16, row> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
// DOTS-LABEL: tile.kernel @many
// DOTS: tile.dot bf16
// FMA-LABEL: tile.kernel @many
// FMA: tile.dot fma
tile.kernel @many linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, bf16, row>)
    attributes {domain = #tile.domain<rows>, rows = 0 : i64} {
  tile.grid panels 4 {
    %0 = tile.dot undecided %x, %w : !tile.rows<64>, !qfmt.packed<64x64, bf16, row> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
// DOTS-LABEL: tile.kernel @half
// DOTS: tile.dot fma
// FMA-LABEL: tile.kernel @half
// FMA: tile.dot fma
tile.kernel @half linear ins(%x: !tile.rows<64>) outs(%y: !tile.rows<64>) weights(%w: !qfmt.packed<64x64, f16, row>)
    attributes {domain = #tile.domain<rows>, rows = 1 : i64} {
  tile.grid panels 4 {
    %0 = tile.dot undecided %x, %w : !tile.rows<64>, !qfmt.packed<64x64, f16, row> -> !tile.frag<64>
    tile.store %0, %y : !tile.frag<64>, !tile.rows<64>
  }
}
