//===- CApiSupport.h - what the two halves of the C API share (private) ---------------------------------===//
#ifndef INGOT_RUNTIME_CORE_CAPISUPPORT_H
#define INGOT_RUNTIME_CORE_CAPISUPPORT_H

#include "runtime/core/CStructs.h"
#include "runtime/core/Model.h"
#include "runtime/core/ingot_runtime.h"

#include <exception>
#include <new>

struct ingot_rt_model {
  std::shared_ptr<ingot::core::Model> model;
};

namespace ingot::core {

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

/// Parses JSON of a caller; null gives JSON null.
bool parseJsonArgument(const char *text, const char *what, nlohmann::ordered_json &out, std::string &error);

/// Renders and encodes; a status.
int32_t chatIds(const Model &model, const char *messages, const char *extra, bool generationPrompt,
                std::vector<int32_t> &ids, std::string &error);

} // namespace ingot::core
#endif
