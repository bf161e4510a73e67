//===- ToyModule.h - a small real model behind the module ABI -------------------------------------------===//
//
// Two attention layers over paged keys and values with rope, written by hand as kernels of the ABI: enough
// structure that every runtime duty shows in the tokens (positions, block tables, masks, rows, parts,
// replicated launches, taps, history). Attention loads whole blocks of 64 positions and multiplies masked
// values by zero, as generated kernels do. Token `Poison` writes infinite values; token `Broken` makes a
// kernel fail.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_TEST_UNIT_RUNTIME_TOYMODULE_H
#define INGOT_TEST_UNIT_RUNTIME_TOYMODULE_H

#include "runtime/abi/ingot_abi.h"
#include "runtime/batch/Request.h"

#include <string>
#include <vector>

namespace toy {

constexpr uint32_t Vocab = 70, Hidden = 16, Layers = 2, Context = 400, MaxSeqs = 6, MaxRows = 48;
constexpr int32_t Eos = 60, Poison = 68, Broken = 69;

/// The module; its tables live for the process.
const ingot_module_v1 *query(uint32_t maxVersion);

/// Weight bytes, 64-aligned inside the vector's owner.
const std::vector<float> &weights();
const uint8_t *weightBytes();

/// Logits after tokens[0 .. i] for every i: the same arithmetic without pages, batches or parts.
std::vector<std::vector<float>> reference(const std::vector<int32_t> &tokens);
/// The residual stream after layer `layer` at every position, from the same computation.
std::vector<std::vector<float>> referenceHidden(const std::vector<int32_t> &tokens, uint32_t layer);
/// Greedy continuation by reference(), stopping after Eos.
std::vector<int32_t> referenceGreedy(std::vector<int32_t> prompt, size_t n);

/// Text of a token: one to three letters, 'é' split over two tokens (ids 50 and 51).
std::string textOf(int32_t id);
ingot::batch::TextStreamFactory textStreams();

/// `n` ids below 60 from a seed.
std::vector<int32_t> prompt(uint32_t seed, size_t n);

} // namespace toy
#endif
