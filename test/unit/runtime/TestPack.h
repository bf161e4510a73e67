//===- TestPack.h - writes packs for the tests ----------------------------------------------------------===//
//
// An independent, plain writer of the format in ingot_pack.h.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_TEST_UNIT_RUNTIME_TESTPACK_H
#define INGOT_TEST_UNIT_RUNTIME_TESTPACK_H

#include "runtime/abi/ingot_abi.h"
#include "runtime/abi/ingot_pack.h"
#include "runtime/weights/Hash.h"

#include <cstring>
#include <string>
#include <vector>

namespace testpack {

struct Piece {
  uint32_t kind;
  std::string name;
  std::vector<uint8_t> bytes;
};

inline std::vector<uint8_t> bytesOf(const std::string &s) { return {s.begin(), s.end()}; }

inline std::vector<uint8_t> paramsOf(const ingot_module_v1 &m, const uint8_t *weights) {
  std::string strings;
  std::vector<uint8_t> out(sizeof(ingot_pack_params_v1) + m.n_params * sizeof(ingot_pack_param_v1));
  ingot_pack_params_v1 head = {m.n_params, sizeof(ingot_pack_param_v1), 0};
  std::memcpy(out.data(), &head, sizeof(head));
  auto intern = [&](const char *s) {
    uint32_t at = uint32_t(out.size() + strings.size());
    strings.append(s, std::strlen(s) + 1);
    return at;
  };
  for (uint32_t i = 0; i < m.n_params; ++i) {
    const ingot_param_v1 &p = m.params[i];
    ingot_pack_param_v1 e = {};
    e.name = intern(p.name);
    e.scheme = intern(p.scheme);
    e.layout = intern(p.layout);
    e.rows = p.rows, e.cols = p.cols, e.offset = p.offset, e.bytes = p.bytes;
    e.hash = ingot::weights::hashBytes(weights + p.offset, p.bytes);
    std::memcpy(out.data() + sizeof(head) + i * sizeof(e), &e, sizeof(e));
  }
  out.insert(out.end(), strings.begin(), strings.end());
  return out;
}

/// Header, table and pieces; hashes are right.
inline std::vector<uint8_t> write(const std::vector<Piece> &pieces, uint64_t weightHash) {
  ingot_pack_header_v1 h = {};
  std::memcpy(h.magic, INGOT_PACK_MAGIC, 8);
  h.version = INGOT_PACK_VERSION;
  h.header_bytes = sizeof(h);
  h.table_offset = 128;
  h.n_sections = uint32_t(pieces.size());
  h.entry_bytes = sizeof(ingot_pack_section_v1);
  h.weight_hash = weightHash;
  std::vector<uint8_t> out(128 + pieces.size() * sizeof(ingot_pack_section_v1));
  std::vector<ingot_pack_section_v1> table(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    size_t align = pieces[i].kind == INGOT_PACK_WEIGHTS ? INGOT_PACK_ALIGN : INGOT_PACK_SECTION_ALIGN;
    out.resize((out.size() + align - 1) / align * align);
    table[i].kind = pieces[i].kind;
    std::memcpy(table[i].name, pieces[i].name.data(), pieces[i].name.size());
    table[i].offset = out.size();
    table[i].bytes = pieces[i].bytes.size();
    table[i].hash = ingot::weights::hashBytes(pieces[i].bytes.data(), pieces[i].bytes.size());
    out.insert(out.end(), pieces[i].bytes.begin(), pieces[i].bytes.end());
    if (pieces[i].kind == INGOT_PACK_WEIGHTS)
      h.weight_bytes = pieces[i].bytes.size();
  }
  std::memcpy(out.data() + h.table_offset, table.data(), table.size() * sizeof(table[0]));
  h.table_hash = ingot::weights::hashBytes(table.data(), table.size() * sizeof(table[0]));
  h.pack_bytes = out.size();
  h.header_hash = ingot::weights::hashBytes(&h, offsetof(ingot_pack_header_v1, header_hash));
  std::memcpy(out.data(), &h, sizeof(h));
  return out;
}

/// Corrects the hashes of header and table after a test has changed their fields.
inline void rehash(std::vector<uint8_t> &pack) {
  ingot_pack_header_v1 h;
  std::memcpy(&h, pack.data(), sizeof(h));
  uint64_t bytes = uint64_t(h.n_sections) * sizeof(ingot_pack_section_v1);
  if (h.table_offset < pack.size() && bytes <= pack.size() - h.table_offset)
    h.table_hash = ingot::weights::hashBytes(pack.data() + h.table_offset, bytes);
  h.header_hash = ingot::weights::hashBytes(&h, offsetof(ingot_pack_header_v1, header_hash));
  std::memcpy(pack.data(), &h, sizeof(h));
}

/// `image`, zeros to the alignment, the pack, a trailer.
inline std::vector<uint8_t> executable(const std::vector<uint8_t> &image, const std::vector<uint8_t> &pack) {
  std::vector<uint8_t> out = image;
  out.resize((out.size() + INGOT_PACK_ALIGN - 1) / INGOT_PACK_ALIGN * INGOT_PACK_ALIGN);
  ingot_pack_header_v1 h;
  std::memcpy(&h, pack.data(), sizeof(h));
  ingot_pack_trailer_v1 t = {};
  std::memcpy(t.magic, INGOT_PACK_TRAILER_MAGIC, 8);
  t.version = INGOT_PACK_VERSION;
  t.trailer_bytes = sizeof(t);
  t.pack_offset = out.size();
  t.pack_bytes = pack.size();
  t.header_hash = h.header_hash;
  t.trailer_hash = ingot::weights::hashBytes(&t, offsetof(ingot_pack_trailer_v1, trailer_hash));
  out.insert(out.end(), pack.begin(), pack.end());
  const auto *p = reinterpret_cast<const uint8_t *>(&t);
  out.insert(out.end(), p, p + sizeof(t));
  return out;
}

} // namespace testpack
#endif
