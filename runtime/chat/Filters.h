// Tables of the filters, each sorted by name.
#pragma once

#include "runtime/chat/Interp.h"

namespace ingot::chat {

struct FilterEntry {
  const char *name;
  FilterFn fn;
};

extern const FilterEntry kTextFilters[]; // text, numbers, JSON
extern const size_t kTextFilterCount;
extern const FilterEntry kSequenceFilters[];
extern const size_t kSequenceFilterCount;

} // namespace ingot::chat
