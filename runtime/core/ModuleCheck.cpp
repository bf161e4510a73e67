//===- ModuleCheck.cpp ----------------------------------------------------------------------------------===//
#include "runtime/core/ModuleCheck.h"

#include <algorithm>

namespace ingot::core {
namespace {

constexpr uint32_t MaxTable = 1u << 20;
constexpr uint64_t MaxBytes = UINT64_C(1) << 40;

class Checker {
public:
  Checker(const ingot_module_v1 &m, std::string &error) : m(m), error(error) {}

  bool run() { return header() && kernels() && kvLayers() && ropes() && params() && programs(); }

private:
  bool fail(const std::string &what) {
    error = std::string("module ") + (m.isa ? m.isa : "?") + ": " + what;
    return false;
  }

  bool header() {
    if (!m.isa || !m.features || !m.build)
      return fail("a text of the header is missing");
    if (m.vocab == 0 || m.hidden == 0 || m.context == 0 || m.max_seqs == 0)
      return fail("vocab, hidden, context and max_seqs must not be 0");
    if (m.vocab > (1u << 30) || m.context > (1u << 30) || m.max_seqs > (1u << 16))
      return fail("vocab, context or max_seqs is out of range");
    for (uint32_t n : {m.n_kernels, m.n_programs, m.n_params, m.n_kv_layers, m.n_ropes})
      if (n > MaxTable)
        return fail("a table has " + std::to_string(n) + " entries");
    if (m.n_programs == 0)
      return fail("no programs");
    if ((m.n_kernels && !m.kernels) || !m.programs || (m.n_params && !m.params) ||
        (m.n_kv_layers && !m.kv_layers) || (m.n_ropes && !m.ropes))
      return fail("a table is missing");
    return true;
  }

  bool kernels() {
    for (uint32_t i = 0; i < m.n_kernels; ++i) {
      const ingot_kernel_v1 &k = m.kernels[i];
      if (k.struct_size < sizeof(k) || !k.fn || !k.name)
        return fail("kernel " + std::to_string(i) + " is incomplete");
    }
    return true;
  }

  bool kvLayers() {
    for (uint32_t i = 0; i < m.n_kv_layers; ++i) {
      const ingot_kv_layer_v1 &l = m.kv_layers[i];
      if (l.dtype > INGOT_KV_INT8 || l.heads == 0 || l.heads > 65536 || l.dim > 65536 || l.v_dim > 65536)
        return fail("kv layer " + std::to_string(i) + " has a bad shape or type");
      uint64_t bytes = l.heads * ingot_kv_head_bytes(l.dtype, l.dim, l.v_dim);
      if (l.page_bytes != bytes || l.page_bytes > MaxBytes || l.page_bytes % 64 != 0)
        return fail("kv layer " + std::to_string(i) + ": pages of " + std::to_string(l.page_bytes) +
                    " bytes, " + std::to_string(bytes) + " are needed, in multiples of 64");
    }
    return true;
  }

  bool ropes() {
    for (uint32_t i = 0; i < m.n_ropes; ++i)
      if (m.ropes[i].pairs == 0 || m.ropes[i].pairs > 65536 || !m.ropes[i].inv_freq)
        return fail("rope " + std::to_string(i) + " is incomplete");
    return true;
  }

  bool params() {
    for (uint32_t i = 0; i < m.n_params; ++i) {
      const ingot_param_v1 &p = m.params[i];
      if (!p.name || !p.scheme || !p.layout || p.offset % 64 != 0 || p.offset > m.weight_bytes ||
          p.bytes > m.weight_bytes - p.offset)
        return fail("param " + std::to_string(i) + " does not lie inside the weights");
    }
    return true;
  }

  bool slotInside(uint64_t slot, const ingot_program_v1 &p, bool needsBytes) {
    bool isPrivate = slot & INGOT_SLOT_PRIVATE;
    uint64_t offset = slot & ~INGOT_SLOT_PRIVATE;
    uint64_t bytes = isPrivate ? p.private_bytes : p.arena_bytes;
    return offset % 64 == 0 && (needsBytes ? offset < bytes : offset <= bytes);
  }

  bool programs() {
    uint32_t next = 1;
    for (uint32_t i = 0; i < m.n_programs; ++i) {
      const ingot_program_v1 &p = m.programs[i];
      std::string where = "program " + std::to_string(i) + " (M class " + std::to_string(p.m_class) + ")";
      if (p.struct_size < sizeof(p))
        return fail(where + " is incomplete");
      if (p.min_rows > next || p.min_rows == 0 || p.max_rows < next || p.max_rows > (1u << 20))
        return fail(where + ": rows " + std::to_string(p.min_rows) + ".." + std::to_string(p.max_rows) +
                    " leave a gap after " + std::to_string(next - 1));
      next = p.max_rows + 1;
      if (p.n_launches > MaxTable || p.n_taps > MaxTable || (p.n_launches && !p.launches) ||
          (p.n_taps && !p.taps))
        return fail(where + ": a table is missing");
      if (p.arena_bytes > MaxBytes || p.private_bytes > MaxBytes)
        return fail(where + ": its memory is out of range");
      if (!launches(p, where))
        return false;
      uint64_t logits = p.logits_slot;
      uint64_t wanted = 0;
      if (p.max_out < std::min(p.max_rows, m.max_seqs) || p.max_out > p.max_rows)
        return fail(where + ": max_out is " + std::to_string(p.max_out));
      if (p.logits_stride < m.vocab || logits & INGOT_SLOT_PRIVATE || logits % 64 != 0 ||
          logits > p.arena_bytes ||
          __builtin_mul_overflow(uint64_t(p.logits_stride) * 4, uint64_t(p.max_out), &wanted) ||
          wanted > p.arena_bytes - logits)
        return fail(where + ": the logits do not lie inside the arena");
      if (p.argmax_panels != 0 && !fillsLogitsLast(p))
        return fail(where + ": argmax_panels is " + std::to_string(p.argmax_panels) +
                    ", which its last launch does not fit");
      for (uint32_t t = 0; t < p.n_taps; ++t) {
        const ingot_tap_v1 &tap = p.taps[t];
        uint64_t bytes = tap.slot & INGOT_SLOT_PRIVATE ? p.private_bytes : p.arena_bytes;
        uint64_t offset = tap.slot & ~INGOT_SLOT_PRIVATE;
        uint64_t rows = tap.kind == INGOT_TAP_NORM ? p.max_out : p.max_rows;
        if (tap.kind > INGOT_TAP_NORM || tap.width == 0 || tap.width > tap.stride ||
            tap.stage >= p.n_stages || offset % 4 != 0 || offset > bytes ||
            uint64_t(tap.stride) * 4 * (rows - 1) > bytes - offset ||
            uint64_t(tap.width) * 4 > bytes - offset - uint64_t(tap.stride) * 4 * (rows - 1))
          return fail(where + ": tap " + std::to_string(t) + " does not lie inside the arena");
      }
    }
    return true;
  }

  bool fillsLogitsLast(const ingot_program_v1 &p) {
    if (p.argmax_panels != (uint64_t(m.vocab) + 15) / 16 || p.n_launches == 0)
      return false;
    const ingot_launch_v1 &last = p.launches[p.n_launches - 1];
    return !(last.flags & INGOT_LAUNCH_REPLICATED) && last.n_slots > 0 &&
           last.slot[last.n_slots - 1] == p.logits_slot;
  }

  bool launches(const ingot_program_v1 &p, const std::string &where) {
    uint32_t stage = 0;
    for (uint32_t i = 0; i < p.n_launches; ++i) {
      const ingot_launch_v1 &l = p.launches[i];
      auto bad = [&](const char *what) {
        return fail(where + ", launch " + std::to_string(i) + ": " + what);
      };
      if (l.kernel >= m.n_kernels)
        return bad("no such kernel");
      if (l.stage < stage || l.stage >= p.n_stages)
        return bad("stages do not ascend");
      stage = l.stage;
      if (l.kv_layer < -1 || (l.kv_layer >= 0 && uint32_t(l.kv_layer) >= m.n_kv_layers))
        return bad("no such kv layer");
      if (l.n_slots > INGOT_MAX_SLOTS || l.n_weights > INGOT_MAX_WEIGHTS)
        return bad("too many operands");
      for (uint16_t s = 0; s < l.n_slots; ++s)
        if (!slotInside(l.slot[s], p, true))
          return bad("a slot does not lie inside its area or is not aligned");
      for (uint16_t w = 0; w < l.n_weights; ++w)
        if (l.weight[w] >= m.weight_bytes || l.weight[w] % 64 != 0)
          return bad("a weight offset does not lie inside the weights or is not aligned");
    }
    return true;
  }

  const ingot_module_v1 &m;
  std::string &error;
};

} // namespace

bool checkModule(const ingot_module_v1 *module, std::string &error) {
  if (!module) {
    error = "the object needs a newer runtime than ABI version " + std::to_string(INGOT_ABI_VERSION);
    return false;
  }
  if (module->struct_size < sizeof(ingot_module_v1) || module->abi_version != INGOT_ABI_VERSION) {
    error = "the module has ABI version " + std::to_string(module->abi_version) + ", this runtime version " +
            std::to_string(INGOT_ABI_VERSION) + ": compile the model again";
    return false;
  }
  return Checker(*module, error).run();
}

} // namespace ingot::core
