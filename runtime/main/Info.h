//===- Info.h - META as the commands that print it see it -----------------------------------------------===//
#ifndef INGOT_RUNTIME_MAIN_INFO_H
#define INGOT_RUNTIME_MAIN_INFO_H

#include "runtime/main/Artefact.h"

#include <nlohmann/json.hpp>

namespace ingot::main_ {

using Json = nlohmann::ordered_json;

/// "12.3 MB", decimal units.
std::string bytesText(double bytes);
/// A member as text, "-" where it is missing; strings without quotes.
std::string textOf(const Json &object, const char *key);
/// A member as a number, 0 where it is missing or is none.
double number(const Json &object, const char *key);

/// META of the options' model. False and a message where there is none.
bool loadMeta(const Options &options, ArtefactLoader &loader, Json &meta, std::string &error);

} // namespace ingot::main_

#endif // INGOT_RUNTIME_MAIN_INFO_H
