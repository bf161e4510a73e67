//===- RegexCompiler.cpp - From a tree to a program -----------------------===//
//
// The size of the program is bounded: repeats of groups are written out.
//
//===----------------------------------------------------------------------===//
#include "runtime/token/Regex.h"
#include "runtime/token/RegexTree.h"
#include "runtime/token/Utf8.h"
#include <algorithm>

namespace ingot::token {

using regex::kInfinity;
using regex::kMaxRepeat;
using regex::Node;
using regex::NodePtr;

static constexpr size_t kMaxCode = 20000;

/// Emits code from the tree.
class RegexBuilder {
public:
  RegexBuilder(Regex &re, std::string &error) : re_(re), error_(error) {}

  bool build(const Node &root) {
    if (!emit(root))
      return false;
    add(Regex::Op::Match);
    if (re_.code_.size() > kMaxCode)
      return tooBig();
    re_.findFirstBytes();
    return true;
  }

private:
  Regex &re_;
  std::string &error_;
  using Op = Regex::Op;

  bool tooBig() {
    error_ = "the expression is too big";
    return false;
  }
  uint32_t here() const { return static_cast<uint32_t>(re_.code_.size()); }
  uint32_t add(Op op) {
    Regex::Instr in;
    in.op = op;
    re_.code_.push_back(in);
    return here() - 1;
  }
  uint32_t addSet(const CharSet &set) {
    re_.sets_.emplace_back(set);
    return static_cast<uint32_t>(re_.sets_.size() - 1);
  }

  static bool nullable(const Node &n) {
    switch (n.kind) {
    case Node::Char:
    case Node::Set:
      return false;
    case Node::Concat:
      return std::all_of(n.kids.begin(), n.kids.end(), [](const NodePtr &k) { return nullable(*k); });
    case Node::Alternate:
      return std::any_of(n.kids.begin(), n.kids.end(), [](const NodePtr &k) { return nullable(*k); });
    case Node::Repeat:
      return n.min == 0 || nullable(*n.kids[0]);
    case Node::Atomic:
      return nullable(*n.kids[0]);
    default:
      return true;
    }
  }

  /// Characters that a match has, if it is one number for all matches; -1 otherwise.
  static int64_t fixedLength(const Node &n) {
    switch (n.kind) {
    case Node::Char:
    case Node::Set:
      return 1;
    case Node::Concat: {
      int64_t sum = 0;
      for (const NodePtr &k : n.kids) {
        int64_t len = fixedLength(*k);
        if (len < 0)
          return -1;
        sum += len;
      }
      return sum;
    }
    case Node::Alternate: {
      int64_t len = fixedLength(*n.kids[0]);
      for (const NodePtr &k : n.kids)
        if (fixedLength(*k) != len)
          return -1;
      return len;
    }
    case Node::Repeat: {
      int64_t len = fixedLength(*n.kids[0]);
      return n.min == n.max && len >= 0 ? len * n.min : -1;
    }
    case Node::Atomic:
      return fixedLength(*n.kids[0]);
    default:
      return 0;
    }
  }

  bool emit(const Node &n) {
    if (re_.code_.size() > kMaxCode || re_.sets_.size() > 2000)
      return tooBig();
    switch (n.kind) {
    case Node::Empty:
      return true;
    case Node::Char:
      re_.code_[add(Op::Char)].arg = n.cp;
      return true;
    case Node::Set: {
      uint32_t set = addSet(n.set);
      re_.code_[add(Op::Set)].arg = set;
      return true;
    }
    case Node::Concat:
      for (const NodePtr &k : n.kids)
        if (!emit(*k))
          return false;
      return true;
    case Node::Alternate: {
      std::vector<uint32_t> jumps;
      for (size_t i = 0; i < n.kids.size(); ++i) {
        bool last = i + 1 == n.kids.size();
        uint32_t split = last ? 0 : add(Op::Split);
        if (!last)
          re_.code_[split].x = here();
        if (!emit(*n.kids[i]))
          return false;
        if (!last) {
          jumps.push_back(add(Op::Jump));
          re_.code_[split].y = here();
        }
      }
      for (uint32_t j : jumps)
        re_.code_[j].x = here();
      return true;
    }
    case Node::Repeat:
      return repeat(n);
    case Node::Atomic: {
      uint32_t at = add(Op::Atomic);
      if (!emit(*n.kids[0]))
        return false;
      add(Op::Match);
      re_.code_[at].x = here();
      return true;
    }
    case Node::Look: {
      uint32_t at = add(Op::Look);
      re_.code_[at].arg = n.look;
      if (n.look >= 2) {
        int64_t len = fixedLength(*n.kids[0]);
        if (len < 0 || len > kMaxRepeat) {
          error_ = "look-behind of variable length is not supported";
          return false;
        }
        re_.code_[at].min = static_cast<uint32_t>(len);
      }
      if (!emit(*n.kids[0]))
        return false;
      add(Op::Match);
      re_.code_[at].x = here();
      return true;
    }
    case Node::Assert:
      add(n.op);
      return true;
    }
    return true;
  }

  bool repeat(const Node &n) {
    const Node &kid = *n.kids[0];
    if (n.greedy && (kid.kind == Node::Char || kid.kind == Node::Set)) {
      CharSet set = kid.set;
      if (kid.kind == Node::Char)
        set.ranges.push_back({kid.cp, kid.cp});
      uint32_t index = addSet(set);
      Regex::Instr &in = re_.code_[add(Op::Run)];
      in.arg = index;
      in.min = n.min;
      in.max = n.max;
      in.flag = n.possessive;
      return true;
    }
    uint32_t atomic = n.possessive ? add(Op::Atomic) : 0;
    for (uint32_t i = 0; i < n.min; ++i)
      if (!emit(kid))
        return false;
    auto split = [&] { return add(Op::Split); };
    auto target = [&](uint32_t at, uint32_t body, uint32_t out) {
      re_.code_[at].x = n.greedy ? body : out;
      re_.code_[at].y = n.greedy ? out : body;
    };
    if (n.max == kInfinity) {
      if (nullable(kid))
        re_.remember_ = true;
      uint32_t at = split(), body = here();
      if (!emit(kid))
        return false;
      re_.code_[add(Op::Jump)].x = at;
      target(at, body, here());
    } else {
      std::vector<std::pair<uint32_t, uint32_t>> splits;
      for (uint32_t i = n.min; i < n.max; ++i) {
        uint32_t at = split();
        splits.push_back({at, here()});
        if (!emit(kid))
          return false;
      }
      for (auto &s : splits)
        target(s.first, s.second, here());
    }
    if (n.possessive) {
      add(Op::Match);
      re_.code_[atomic].x = here();
    }
    return true;
  }
};

bool Regex::compile(std::string_view pattern, Regex &out, std::string &error) {
  out = Regex();
  error.clear();
  if (!isValidUtf8(pattern)) {
    error = "the expression is not valid UTF-8";
    return false;
  }
  NodePtr root = regex::parse(pattern, error);
  if (!root)
    return false;
  return RegexBuilder(out, error).build(*root);
}

} // namespace ingot::token
