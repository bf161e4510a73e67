//===- BatchRequest.h - one line of a batch file --------------------------------------------------------===//
#ifndef INGOT_RUNTIME_MAIN_BATCHREQUEST_H
#define INGOT_RUNTIME_MAIN_BATCHREQUEST_H

#include "runtime/main/Session.h"

namespace ingot::main_ {

struct BatchRequest {
  std::string customId;
  bool chat = false;
  std::vector<int32_t> ids;
  batch::RequestOptions options;
  std::string problem; ///< why it cannot be served; empty: it can

  /// Reads one line; false and a message that names the field. `customId` is set where it could be read.
  bool parse(const std::string &line, Session &session, std::string &error);
};

} // namespace ingot::main_

#endif // INGOT_RUNTIME_MAIN_BATCHREQUEST_H
