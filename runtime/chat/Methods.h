// Tables of the built-in types' methods. Sorted by name.
#pragma once

#include "runtime/chat/Interp.h"

namespace ingot::chat {

struct MethodEntry {
  const char *name;
  NativeFn fn;
};

extern const MethodEntry kStrMethods[];
extern const size_t kStrMethodCount;

} // namespace ingot::chat
