//===- CApiSupport.h - what the two halves of the C API share (private) -----------------------------------===//
#ifndef INGOT_RUNTIME_CORE_CAPISUPPORT_H
#define INGOT_RUNTIME_CORE_CAPISUPPORT_H

#include "runtime/core/Model.h"
#include "runtime/core/ingot_runtime.h"

#include <cstring>
#include <exception>
#include <new>

struct ingot_rt_model {
  std::shared_ptr<ingot::core::Model> model;
};

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

/// Runs `body(error)`, which returns a status; turns exceptions of the libraries below into one.
template <typename Body> int32_t guarded(char *message, size_t size, Body body) {
  std::string error;
  int32_t status;
  try {
    status = body(error);
  } catch (const std::bad_alloc &) {
    status = INGOT_RT_OUT_OF_MEMORY;
    error = "out of memory";
  } catch (const std::exception &e) {
    status = INGOT_RT_INTERNAL;
    error = e.what();
  }
  writeMessage(error, message, size);
  return status;
}

/// Copies the caller's struct over defaults, as far as the caller knows it; false where its size is impossible.
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

/// Parses JSON of a caller; null gives JSON null.
bool parseJsonArgument(const char *text, const char *what, nlohmann::ordered_json &out, std::string &error);

/// Renders and encodes; a status.
int32_t chatIds(const Model &model, const char *messages, const char *extra, bool generationPrompt,
                std::vector<int32_t> &ids, std::string &error);

} // namespace ingot::core
#endif
