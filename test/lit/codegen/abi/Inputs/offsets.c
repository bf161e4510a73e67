/* Prints "struct field offset" of the structs that generated tables use, as this C compiler lays them out. */
#include "runtime/abi/ingot_abi.h"

#include <stdio.h>

#define FIELD(type, field) printf(#type " " #field " %zu\n", offsetof(type, field))
#define SIZE(type) printf(#type " sizeof %zu\n", sizeof(type))

int main(void) {
  FIELD(ingot_kernel_v1, struct_size);
  FIELD(ingot_kernel_v1, scratch_bytes);
  FIELD(ingot_kernel_v1, name);
  FIELD(ingot_kernel_v1, family);
  FIELD(ingot_kernel_v1, fn);
  FIELD(ingot_kernel_v1, max_parts);
  FIELD(ingot_kernel_v1, reserved0);
  SIZE(ingot_kernel_v1);
  FIELD(ingot_launch_v1, kernel);
  FIELD(ingot_launch_v1, stage);
  FIELD(ingot_launch_v1, flags);
  FIELD(ingot_launch_v1, layer);
  FIELD(ingot_launch_v1, kv_layer);
  FIELD(ingot_launch_v1, n_slots);
  FIELD(ingot_launch_v1, n_weights);
  FIELD(ingot_launch_v1, slot);
  FIELD(ingot_launch_v1, weight);
  SIZE(ingot_launch_v1);
  FIELD(ingot_tap_v1, kind);
  FIELD(ingot_tap_v1, layer);
  FIELD(ingot_tap_v1, stage);
  FIELD(ingot_tap_v1, width);
  FIELD(ingot_tap_v1, stride);
  FIELD(ingot_tap_v1, reserved0);
  FIELD(ingot_tap_v1, slot);
  SIZE(ingot_tap_v1);
  FIELD(ingot_program_v1, struct_size);
  FIELD(ingot_program_v1, m_class);
  FIELD(ingot_program_v1, min_rows);
  FIELD(ingot_program_v1, max_rows);
  FIELD(ingot_program_v1, n_stages);
  FIELD(ingot_program_v1, n_launches);
  FIELD(ingot_program_v1, n_taps);
  FIELD(ingot_program_v1, logits_stride);
  FIELD(ingot_program_v1, arena_bytes);
  FIELD(ingot_program_v1, private_bytes);
  FIELD(ingot_program_v1, logits_slot);
  FIELD(ingot_program_v1, launches);
  FIELD(ingot_program_v1, taps);
  FIELD(ingot_program_v1, max_out);
  FIELD(ingot_program_v1, argmax_panels);
  SIZE(ingot_program_v1);
  FIELD(ingot_param_v1, name);
  FIELD(ingot_param_v1, scheme);
  FIELD(ingot_param_v1, layout);
  FIELD(ingot_param_v1, rows);
  FIELD(ingot_param_v1, cols);
  FIELD(ingot_param_v1, offset);
  FIELD(ingot_param_v1, bytes);
  SIZE(ingot_param_v1);
  FIELD(ingot_kv_layer_v1, heads);
  FIELD(ingot_kv_layer_v1, dim);
  FIELD(ingot_kv_layer_v1, v_dim);
  FIELD(ingot_kv_layer_v1, dtype);
  FIELD(ingot_kv_layer_v1, window);
  FIELD(ingot_kv_layer_v1, reserved0);
  FIELD(ingot_kv_layer_v1, page_bytes);
  SIZE(ingot_kv_layer_v1);
  FIELD(ingot_rope_v1, pairs);
  FIELD(ingot_rope_v1, reserved0);
  FIELD(ingot_rope_v1, scale);
  FIELD(ingot_rope_v1, inv_freq);
  SIZE(ingot_rope_v1);
  FIELD(ingot_module_v1, struct_size);
  FIELD(ingot_module_v1, abi_version);
  FIELD(ingot_module_v1, isa);
  FIELD(ingot_module_v1, features);
  FIELD(ingot_module_v1, build);
  FIELD(ingot_module_v1, weight_hash);
  FIELD(ingot_module_v1, weight_bytes);
  FIELD(ingot_module_v1, vocab);
  FIELD(ingot_module_v1, hidden);
  FIELD(ingot_module_v1, layers);
  FIELD(ingot_module_v1, context);
  FIELD(ingot_module_v1, max_seqs);
  FIELD(ingot_module_v1, n_kernels);
  FIELD(ingot_module_v1, n_programs);
  FIELD(ingot_module_v1, n_params);
  FIELD(ingot_module_v1, n_kv_layers);
  FIELD(ingot_module_v1, n_ropes);
  FIELD(ingot_module_v1, kernels);
  FIELD(ingot_module_v1, programs);
  FIELD(ingot_module_v1, params);
  FIELD(ingot_module_v1, kv_layers);
  FIELD(ingot_module_v1, ropes);
  SIZE(ingot_module_v1);
  return 0;
}
