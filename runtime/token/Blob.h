//===- Blob.h - The checked view of a tokenizer's bytes ---------*- C++ -*-===//
//
// Opens the format of runtime/abi/ingot_tok.h in place. After `open` succeeded,
// every id, offset and string range in the tables is inside its bounds, hash
// tables have an empty slot, and the accessors need no further checks.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_TOKEN_BLOB_H
#define INGOT_RUNTIME_TOKEN_BLOB_H

#include "runtime/abi/ingot_tok.h"
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace ingot::token {

class Blob {
public:
  /// The bytes must outlive the view; any alignment. False and `error` if anything is out of place.
  bool open(const uint8_t *data, size_t size, std::string &error);

  const ingot_tok_header_v1 &header() const { return header_; }
  uint32_t vocab() const { return header_.vocab; }
  bool flag(ingot_tok_flag f) const { return header_.flags & f; }

  std::string_view token(uint32_t id) const {
    uint32_t from = u32(INGOT_TOK_T_OFFSETS, id), to = u32(INGOT_TOK_T_OFFSETS, id + 1);
    return {bytes(INGOT_TOK_T_BYTES) + from, to - from};
  }
  uint8_t typeByte(uint32_t id) const { return table(INGOT_TOK_T_TYPES)[id]; }
  ingot_tok_type type(uint32_t id) const {
    return static_cast<ingot_tok_type>(typeByte(id) & INGOT_TOK_TYPE_MASK);
  }
  float score(uint32_t id) const {
    float f;
    std::memcpy(&f, table(INGOT_TOK_T_SCORES) + size_t(id) * 4, 4);
    return f;
  }
  /// The id of a token that takes part in look-ups; -1 if there is none.
  int32_t find(std::string_view text) const {
    uint64_t mask = count(INGOT_TOK_T_VOCAB_SLOTS) - 1;
    for (uint64_t i = ingot_tok_hash_bytes(text.data(), text.size()) & mask;; i = (i + 1) & mask) {
      uint32_t id = u32(INGOT_TOK_T_VOCAB_SLOTS, i);
      if (id == INGOT_TOK_NONE)
        return -1;
      if (token(id) == text)
        return static_cast<int32_t>(id);
    }
  }
  /// The rank of the merge of two ids and its result; false if they do not merge.
  bool findMerge(uint32_t left, uint32_t right, uint32_t &rank, uint32_t &result) const {
    uint64_t mask = count(INGOT_TOK_T_MERGE_SLOTS) - 1;
    for (uint64_t i = ingot_tok_hash_pair(left, right) & mask;; i = (i + 1) & mask) {
      uint32_t index = u32(INGOT_TOK_T_MERGE_SLOTS, i);
      if (index == INGOT_TOK_NONE)
        return false;
      ingot_tok_merge_v1 m = merge(index);
      if (m.left == left && m.right == right) {
        rank = index;
        result = m.result;
        return true;
      }
    }
  }
  ingot_tok_merge_v1 merge(uint64_t i) const { return record<ingot_tok_merge_v1>(INGOT_TOK_T_MERGES, i); }
  ingot_tok_added_v1 added(uint64_t i) const { return record<ingot_tok_added_v1>(INGOT_TOK_T_ADDED, i); }
  ingot_tok_stage_v1 stage(ingot_tok_table_id t, uint64_t i) const {
    return record<ingot_tok_stage_v1>(t, i);
  }
  std::string_view string(uint32_t offset, uint32_t size) const {
    return {bytes(INGOT_TOK_T_STRINGS) + offset, size};
  }
  int32_t i32(ingot_tok_table_id t, uint64_t i) const { return static_cast<int32_t>(u32(t, i)); }
  uint64_t count(ingot_tok_table_id t) const { return header_.tables[t].count; }

private:
  const uint8_t *table(ingot_tok_table_id t) const { return data_ + header_.tables[t].offset; }
  const char *bytes(ingot_tok_table_id t) const { return reinterpret_cast<const char *>(table(t)); }
  uint32_t u32(ingot_tok_table_id t, uint64_t i) const {
    uint32_t v;
    std::memcpy(&v, table(t) + i * 4, 4);
    return v;
  }
  template <typename T> T record(ingot_tok_table_id t, uint64_t i) const {
    T v;
    std::memcpy(&v, table(t) + i * sizeof(T), sizeof(T));
    return v;
  }
  bool checkTables(std::string &error) const;
  bool checkVocab(std::string &error) const;
  bool checkMerges(std::string &error) const;
  bool checkTexts(std::string &error) const;
  bool checkIds(std::string &error) const;

  const uint8_t *data_ = nullptr;
  ingot_tok_header_v1 header_{};
};

} // namespace ingot::token

#endif
