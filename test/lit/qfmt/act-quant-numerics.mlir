// RUN: ingot-opt %s -qfmt-insert-act-quant | FileCheck %s --check-prefix=EXACT
// RUN: ingot-opt %s -qfmt-insert-act-quant=numerics=fast | FileCheck %s --check-prefix=FAST
// RUN: ingot-opt %s -qfmt-insert-act-quant=numerics=fast | ingot-opt -qfmt-insert-act-quant | FileCheck %s --check-prefix=FAST
// RUN: not ingot-opt %s -qfmt-insert-act-quant=numerics=loose 2>&1 | FileCheck %s --check-prefix=WORD

// The mode stays with the module: what is compiled from its text has it too.
// EXACT: llm.config
// EXACT-NOT: numerics
// FAST: llm.config "t" arch "llama" kv f16 {{.*}}numerics = #llm.numerics<fast>
// WORD: numerics must be exact or fast, got 'loose'
llm.config "t" arch "llama" kv f16 {hidden = 64 : i64, layers = 1 : i64, max_context = 64 : i64, vocab = 64 : i64}
