//===- RegexTree.h - The tree of an expression ------------------*- C++ -*-===//
//
// What the parser makes of a pattern and the compiler makes code of. The depth
// of groups is bounded, because patterns come from files.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_TOKEN_REGEXTREE_H
#define INGOT_RUNTIME_TOKEN_REGEXTREE_H

#include "runtime/token/Regex.h"
#include <memory>

namespace ingot::token::regex {

constexpr uint32_t kInfinity = 0xffffffffu;
constexpr uint32_t kMaxRepeat = 10000;

struct Node {
  enum Kind { Empty, Char, Set, Concat, Alternate, Repeat, Look, Atomic, Assert } kind = Empty;
  uint32_t cp = 0;
  CharSet set;
  std::vector<std::unique_ptr<Node>> kids;
  uint32_t min = 0, max = 0;
  bool greedy = true, possessive = false;
  uint32_t look = 0; // as Op::Look's arg
  Regex::Op op = Regex::Op::Match;
};
using NodePtr = std::unique_ptr<Node>;

/// Null and `error` (with the offset) if the pattern, which is valid UTF-8, is ill-formed or not supported.
NodePtr parse(std::string_view pattern, std::string &error);

} // namespace ingot::token::regex

#endif
