//===- CStructs.h - conventions of the C APIs: sized structs, messages in the caller's buffer -----------===//
//
// Shared by the API of the runtime and that of the compiler. Depends on nothing but the C library.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_CORE_CSTRUCTS_H
#define INGOT_RUNTIME_CORE_CSTRUCTS_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace ingot::core {

/// Copies `text` as far as it fits, cut before a UTF-8 continuation byte.
inline void writeMessage(const std::string &text, char *message, size_t size) {
  if (!message || size == 0)
    return;
  size_t n = text.size() < size ? text.size() : size - 1;
  while (n > 0 && n < text.size() && (static_cast<unsigned char>(text[n]) & 0xC0) == 0x80)
    --n;
  std::memcpy(message, text.data(), n);
  message[n] = 0;
}

/// Copies the caller's struct over defaults, as far as the caller knows it; false where its size is
/// impossible.
template <typename T> bool takeStruct(const T *given, T &into) {
  if (!given)
    return true;
  if (given->struct_size < sizeof(uint32_t) || given->struct_size > 4096)
    return false;
  size_t n = given->struct_size < sizeof(T) ? given->struct_size : sizeof(T);
  std::memcpy(&into, given, n);
  into.struct_size = sizeof(T);
  return true;
}

/// Copies `full` to the caller's struct as far as the caller knows it.
template <typename T> bool giveStruct(T full, T *out) {
  if (!out || out->struct_size < sizeof(uint32_t))
    return false;
  uint32_t size = out->struct_size;
  std::memcpy(out, &full, size < sizeof(T) ? size : sizeof(T));
  out->struct_size = size;
  return true;
}

} // namespace ingot::core
#endif
