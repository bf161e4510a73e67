// RUN: ingot-opt %s -split-input-file -verify-diagnostics -allow-unregistered-dialect

// expected-error @+1 {{unknown weight scheme 'q9_9'}}
"test.use"() {t = !qfmt.packed<960x576, q9_9, n16>} : () -> ()

// -----

// expected-error @+1 {{unknown packed layout 'column'}}
"test.use"() {t = !qfmt.packed<960x576, f32, column>} : () -> ()

// -----

// expected-error @+1 {{packed_c1: sizes must be positive, got 0x576}}
"test.use"() {t = !qfmt.packed<0x576, f32, row>} : () -> ()

// -----

// expected-error @+1 {{packed_c2: 576 columns are no multiple of the block of q4_k (256)}}
"test.use"() {t = !qfmt.packed<960x576, q4_k, n16>} : () -> ()

// -----

// expected-error @+1 {{packed_c3: the byte size of 4611686018427387904x64 overflows}}
"test.use"() {t = !qfmt.packed<4611686018427387904x64, f32, row>} : () -> ()

// -----

// expected-error @+1 {{a packed type has two dimensions}}
"test.use"() {t = !qfmt.packed<4x4x4, f32, row>} : () -> ()

// -----

// expected-error @+1 {{act_c2: group must be 32, got 16}}
"test.use"() {t = #qfmt.act<i8, group = 16, block = 1>} : () -> ()

// -----

// expected-error @+1 {{act_c3: block must lie in 0..64}}
"test.use"() {t = #qfmt.act<i8, group = 32, block = 65>} : () -> ()

// -----

// expected-error @+1 {{activation kind must be f32 or i8, found 'i4'}}
"test.use"() {t = #qfmt.act<i4>} : () -> ()

// -----

// expected-error @+1 {{act_type_c2: f32 activations are plain tensors}}
"test.use"() {t = !llm.act<64, <f32>>} : () -> ()

// -----

// expected-error @+1 {{kv_c1: layer must not be negative}}
"test.use"() {t = !llm.kv<layer = -1, heads = 1, dim = 2, v_dim = 2, dtype = f16>} : () -> ()
