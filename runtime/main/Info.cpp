//===- Info.cpp - META as the commands that print it see it ---------------------------------------------===//

#include "runtime/main/Info.h"

#include <cstdio>

namespace ingot::main_ {

std::string bytesText(double bytes) {
  const char *units[] = {"B", "KB", "MB", "GB", "TB"};
  int unit = 0;
  while (bytes >= 1000 && unit < 4) {
    bytes /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof(text), unit ? "%.2f %s" : "%.0f %s", bytes, units[unit]);
  return text;
}

std::string textOf(const Json &object, const char *key) {
  auto it = object.find(key);
  if (it == object.end() || it->is_null())
    return "-";
  return it->is_string() ? it->get<std::string>() : it->dump();
}

double number(const Json &object, const char *key) {
  auto it = object.find(key);
  return it != object.end() && it->is_number() ? it->get<double>() : 0;
}

bool loadMeta(const Options &options, ArtefactLoader &loader, Json &meta, std::string &error) {
  std::string text;
  if (!loader.describe(options, text, error))
    return false;
  meta = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (meta.is_object())
    return true;
  error = "the description of the model is no JSON object";
  return false;
}

} // namespace ingot::main_
