//===- RegexParser.cpp - From pattern text to a tree ----------------------===//
//
// A recursive-descent parser of the part of Oniguruma's syntax that Regex.h
// names.
//
//===----------------------------------------------------------------------===//
#include "runtime/token/RegexTree.h"
#include "runtime/token/Unicode.h"
#include "runtime/token/Utf8.h"
#include <algorithm>

namespace ingot::token::regex {
namespace {

constexpr int kMaxDepth = 64;
constexpr uint32_t kMaxCodePoint = 0x10ffff;

NodePtr make(Node::Kind kind) {
  auto n = std::make_unique<Node>();
  n->kind = kind;
  return n;
}

struct CategoryName {
  std::string_view name;
  uint32_t bits;
};
// Lower case, without spaces, '_' and '-'.
constexpr CategoryName kCategories[] = {
    {"l", CatL},
    {"letter", CatL},
    {"lu", CatLu},
    {"uppercaseletter", CatLu},
    {"ll", CatLl},
    {"lowercaseletter", CatLl},
    {"lt", CatLt},
    {"titlecaseletter", CatLt},
    {"lm", CatLm},
    {"modifierletter", CatLm},
    {"lo", CatLo},
    {"otherletter", CatLo},
    {"lc", CatLu | CatLl | CatLt},
    {"m", CatM},
    {"mark", CatM},
    {"mn", CatMn},
    {"nonspacingmark", CatMn},
    {"mc", CatMc},
    {"spacingmark", CatMc},
    {"me", CatMe},
    {"enclosingmark", CatMe},
    {"n", CatN},
    {"number", CatN},
    {"nd", CatNd},
    {"decimalnumber", CatNd},
    {"nl", CatNl},
    {"letternumber", CatNl},
    {"no", CatNo},
    {"othernumber", CatNo},
    {"p", CatP},
    {"punctuation", CatP},
    {"pc", CatPc},
    {"connectorpunctuation", CatPc},
    {"pd", CatPd},
    {"dashpunctuation", CatPd},
    {"ps", CatPs},
    {"openpunctuation", CatPs},
    {"pe", CatPe},
    {"closepunctuation", CatPe},
    {"pi", CatPi},
    {"initialpunctuation", CatPi},
    {"pf", CatPf},
    {"finalpunctuation", CatPf},
    {"po", CatPo},
    {"otherpunctuation", CatPo},
    {"s", CatS},
    {"symbol", CatS},
    {"sm", CatSm},
    {"mathsymbol", CatSm},
    {"sc", CatSc},
    {"currencysymbol", CatSc},
    {"sk", CatSk},
    {"modifiersymbol", CatSk},
    {"so", CatSo},
    {"othersymbol", CatSo},
    {"z", CatZ},
    {"separator", CatZ},
    {"zs", CatZs},
    {"spaceseparator", CatZs},
    {"zl", CatZl},
    {"lineseparator", CatZl},
    {"zp", CatZp},
    {"paragraphseparator", CatZp},
    {"c", CatC},
    {"other", CatC},
    {"cc", CatCc},
    {"control", CatCc},
    {"cf", CatCf},
    {"format", CatCf},
    {"cs", CatCs},
    {"surrogate", CatCs},
    {"co", CatCo},
    {"privateuse", CatCo},
    {"cn", CatCn},
    {"unassigned", CatCn},
    {"digit", CatNd},
};

/// The set of a \p{name} or [:name:]; false if the name is unknown.
bool namedSet(std::string_view raw, CharSet &set) {
  std::string name;
  for (char c : raw)
    if (c != ' ' && c != '_' && c != '-')
      name += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  for (const CategoryName &c : kCategories)
    if (name == c.name) {
      set.categories |= c.bits;
      return true;
    }
  if (name == "space" || name == "whitespace")
    set.props |= CharSet::Space;
  else if (name == "word")
    set.props |= CharSet::PosixWord;
  else if (name == "han")
    set.props |= CharSet::Han;
  else if (name == "any")
    set.ranges.push_back({0, kMaxCodePoint});
  else if (name == "ascii")
    set.ranges.push_back({0, 0x7f});
  else if (name == "upper" || name == "uppercase")
    set.categories |= CatLu,
        set.ranges.insert(
            set.ranges.end(),
            {{0x2160, 0x216f}, {0x24b6, 0x24cf}, {0x1f130, 0x1f149}, {0x1f150, 0x1f169}, {0x1f170, 0x1f189}});
  else if (name == "punct")
    set.categories |= CatP | CatS;
  else if (name == "cntrl")
    set.categories |= CatCc;
  else if (name == "blank")
    set.categories |= CatZs, set.ranges.push_back({'\t', '\t'});
  else if (name == "xdigit")
    set.ranges.insert(set.ranges.end(), {{'0', '9'}, {'a', 'f'}, {'A', 'F'}});
  else
    return false;
  return true;
}

class Parser {
public:
  Parser(std::string_view text, std::string &error)
      : begin_(text.data()), p_(text.data()), end_(p_ + text.size()), error_(error) {}

  NodePtr parse() {
    NodePtr n = alternation(0);
    if (n && p_ < end_)
      return fail("unmatched close parenthesis");
    return n;
  }

private:
  const char *begin_, *p_, *end_;
  std::string &error_;
  bool ignoreCase_ = false, dotAll_ = false;

  NodePtr fail(std::string_view what) {
    if (error_.empty())
      error_ = std::string(what) + " at offset " + std::to_string(p_ - begin_);
    return nullptr;
  }
  bool failed(std::string_view what) {
    fail(what);
    return false;
  }
  bool eat(std::string_view s) {
    if (static_cast<size_t>(end_ - p_) < s.size() || std::string_view(p_, s.size()) != s)
      return false;
    p_ += s.size();
    return true;
  }

  NodePtr alternation(int depth) {
    if (depth > kMaxDepth)
      return fail("groups are nested too deeply");
    bool savedCase = ignoreCase_, savedDot = dotAll_;
    NodePtr alt = make(Node::Alternate);
    do {
      NodePtr seq = sequence(depth);
      if (!seq)
        return nullptr;
      alt->kids.push_back(std::move(seq));
    } while (eat("|"));
    ignoreCase_ = savedCase;
    dotAll_ = savedDot;
    return alt->kids.size() == 1 ? std::move(alt->kids[0]) : std::move(alt);
  }

  NodePtr sequence(int depth) {
    NodePtr seq = make(Node::Concat);
    while (p_ < end_ && *p_ != '|' && *p_ != ')') {
      NodePtr item = atom(depth);
      if (!item)
        return nullptr;
      item = quantified(std::move(item));
      if (!item)
        return nullptr;
      if (item->kind != Node::Empty)
        seq->kids.push_back(std::move(item));
    }
    return seq;
  }

  bool number(uint32_t &n) {
    const char *start = p_;
    uint64_t v = 0;
    while (p_ < end_ && *p_ >= '0' && *p_ <= '9') {
      v = v * 10 + static_cast<unsigned>(*p_++ - '0');
      if (v > kMaxRepeat)
        v = kMaxRepeat + 1;
    }
    n = static_cast<uint32_t>(v);
    return p_ > start;
  }

  NodePtr quantified(NodePtr item) {
    for (;;) {
      if (p_ == end_)
        return item;
      uint32_t min, max;
      bool braces = false;
      const char *saved = p_;
      if (eat("*")) {
        min = 0, max = kInfinity;
      } else if (eat("+")) {
        min = 1, max = kInfinity;
      } else if (eat("?")) {
        min = 0, max = 1;
      } else if (eat("{")) {
        braces = true;
        bool low = number(min), ok;
        if (!low)
          min = 0;
        if (eat(",")) {
          bool high = number(max);
          if (!high)
            max = kInfinity;
          ok = low || high;
        } else {
          max = min;
          ok = low;
        }
        if (!ok || !eat("}")) { // an ordinary brace
          p_ = saved;
          return item;
        }
        if (min > kMaxRepeat || (max != kInfinity && max > kMaxRepeat) || min > max)
          return fail("bad repeat range");
      } else {
        return item;
      }
      if (item->kind == Node::Assert || item->kind == Node::Look)
        return fail("target of repeat operator is invalid");
      NodePtr rep = make(Node::Repeat);
      rep->min = min;
      rep->max = max;
      rep->kids.push_back(std::move(item));
      if (!braces) { // {n}? and {n}+ are quantifiers on a quantifier
        if (eat("?"))
          rep->greedy = false;
        else if (eat("+"))
          rep->possessive = true;
      } else if (max != min && eat("?")) {
        rep->greedy = false;
      }
      item = std::move(rep);
    }
  }

  NodePtr setNode(CharSet set) {
    NodePtr n = make(Node::Set);
    set.ignoreCase = ignoreCase_;
    n->set = std::move(set);
    return n;
  }

  NodePtr charNode(uint32_t cp) {
    if (ignoreCase_ && (foldCase(cp) != cp || upperCase(cp) != cp)) {
      CharSet set;
      set.ranges.push_back({cp, cp});
      return setNode(std::move(set));
    }
    NodePtr n = make(Node::Char);
    n->cp = cp;
    return n;
  }

  NodePtr assertNode(Regex::Op op) {
    NodePtr n = make(Node::Assert);
    n->op = op;
    return n;
  }

  NodePtr atom(int depth) {
    if (*p_ == '(')
      return group(depth);
    if (*p_ == '[') {
      ++p_;
      CharSet set;
      if (!charClass(set, 0))
        return nullptr;
      return setNode(std::move(set));
    }
    if (*p_ == '\\')
      return escape();
    if (*p_ == '*' || *p_ == '+' || *p_ == '?')
      return fail("target of repeat operator is not specified");
    if (*p_ == '.') {
      ++p_;
      CharSet set;
      if (dotAll_)
        set.ranges.push_back({0, kMaxCodePoint});
      else
        set.ranges.push_back({'\n', '\n'}), set.negate = true;
      return setNode(std::move(set));
    }
    if (eat("^"))
      return assertNode(Regex::Op::LineBegin);
    if (eat("$"))
      return assertNode(Regex::Op::LineEnd);
    return charNode(decodeValid(p_));
  }

  NodePtr group(int depth) {
    const char *open = p_++;
    NodePtr outer;
    if (eat("?")) {
      if (eat("#")) {
        while (p_ < end_ && *p_ != ')')
          ++p_;
        if (!eat(")"))
          return fail("end pattern in a comment");
        return make(Node::Empty);
      }
      if (eat(":")) {
      } else if (eat(">")) {
        outer = make(Node::Atomic);
      } else if (eat("=")) {
        outer = make(Node::Look), outer->look = 0;
      } else if (eat("!")) {
        outer = make(Node::Look), outer->look = 1;
      } else if (eat("<=")) {
        outer = make(Node::Look), outer->look = 2;
      } else if (eat("<!")) {
        outer = make(Node::Look), outer->look = 3;
      } else if (eat("<")) {
        while (p_ < end_ && *p_ != '>')
          ++p_;
        if (!eat(">"))
          return fail("group name is not closed");
      } else {
        return options(depth);
      }
    }
    NodePtr body = alternation(depth + 1);
    if (!body)
      return nullptr;
    if (!eat(")")) {
      p_ = open;
      return fail("end pattern with unmatched parenthesis");
    }
    if (!outer) {
      // An empty group is a node of its own, so that a quantifier behind it has a target.
      if (body->kind == Node::Concat && body->kids.size() == 1)
        return std::move(body->kids[0]);
      return body;
    }
    outer->kids.push_back(std::move(body));
    return outer;
  }

  /// `(?i)`, `(?i-m:...)`: the part behind `(?`.
  NodePtr options(int depth) {
    bool on = true, newCase = ignoreCase_, newDot = dotAll_;
    for (;; ++p_) {
      if (p_ == end_)
        return fail("end pattern in group");
      if (*p_ == '-')
        on = false;
      else if (*p_ == 'i')
        newCase = on;
      else if (*p_ == 'm')
        newDot = on;
      else
        break;
    }
    bool toEnd = *p_ == ')';
    if (!toEnd && *p_ != ':')
      return fail("undefined group option");
    ++p_;
    bool savedCase = ignoreCase_, savedDot = dotAll_;
    ignoreCase_ = newCase;
    dotAll_ = newDot;
    NodePtr body = alternation(depth + 1); // restores the new options at its end
    ignoreCase_ = savedCase;
    dotAll_ = savedDot;
    if (!body)
      return nullptr;
    if (!toEnd && !eat(")"))
      return fail("end pattern with unmatched parenthesis");
    return body; // (?i) holds to the end of the group around it, whose ')' is still to be read
  }

  bool hex(size_t least, size_t most, uint32_t &cp) {
    cp = 0;
    size_t n = 0;
    for (; n < most && p_ < end_; ++n, ++p_) {
      char c = *p_;
      uint32_t d;
      if (c >= '0' && c <= '9')
        d = static_cast<uint32_t>(c - '0');
      else if (c >= 'a' && c <= 'f')
        d = static_cast<uint32_t>(c - 'a' + 10);
      else if (c >= 'A' && c <= 'F')
        d = static_cast<uint32_t>(c - 'A' + 10);
      else
        break;
      cp = cp * 16 + d;
    }
    return n >= least && cp <= kMaxCodePoint;
  }

  /// A single character's escape (the backslash is read); false if it is none of those.
  bool charEscape(uint32_t &cp) {
    switch (*p_) {
    case 'n':
      cp = '\n';
      break;
    case 't':
      cp = '\t';
      break;
    case 'r':
      cp = '\r';
      break;
    case 'f':
      cp = '\f';
      break;
    case 'v':
      cp = 0x0b;
      break;
    case 'a':
      cp = 0x07;
      break;
    case 'e':
      cp = 0x1b;
      break;
    case '0':
      cp = 0;
      break;
    case 'x':
      ++p_;
      if (eat("{"))
        return hex(1, 8, cp) && eat("}");
      return hex(1, 2, cp);
    case 'u':
      ++p_;
      return hex(4, 4, cp);
    default: {
      unsigned char c = static_cast<unsigned char>(*p_);
      if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
        return false;
      cp = decodeValid(p_);
      return true;
    }
    }
    ++p_;
    return true;
  }

  /// \s \d \w \h, their negations, \p{...}; the backslash is read. False without an error if it is none.
  bool setEscape(CharSet &set) {
    char c = *p_;
    switch (c) {
    case 's':
    case 'S':
      set.props = CharSet::Space;
      break;
    case 'w':
    case 'W':
      set.props = CharSet::Word;
      break;
    case 'd':
    case 'D':
      set.categories = CatNd;
      break;
    case 'h':
    case 'H':
      set.ranges = {{'0', '9'}, {'a', 'f'}, {'A', 'F'}};
      break;
    case 'p':
    case 'P': {
      const char *start = p_++;
      std::string_view name;
      bool negate = c == 'P';
      if (eat("{")) {
        if (eat("^"))
          negate = !negate;
        const char *from = p_;
        while (p_ < end_ && *p_ != '}')
          ++p_;
        name = {from, static_cast<size_t>(p_ - from)};
        if (!eat("}")) {
          p_ = start;
          return failed("property name is not closed");
        }
      } else {
        p_ = start;
        return failed("property name is missing");
      }
      if (!namedSet(name, set)) {
        p_ = start;
        return failed("unknown character property '" + std::string(name) + "'");
      }
      set.negate = negate;
      return true;
    }
    default:
      return false;
    }
    set.negate = c < 'a';
    ++p_;
    return true;
  }

  NodePtr escape() {
    ++p_;
    if (p_ == end_)
      return fail("end pattern at escape");
    switch (*p_) {
    case 'A':
      ++p_;
      return assertNode(Regex::Op::TextBegin);
    case 'z':
      ++p_;
      return assertNode(Regex::Op::TextEnd);
    case 'Z':
      ++p_;
      return assertNode(Regex::Op::TextEndNl);
    case 'b':
      ++p_;
      return assertNode(Regex::Op::WordEdge);
    case 'B':
      ++p_;
      return assertNode(Regex::Op::NotWordEdge);
    default:
      break;
    }
    CharSet set;
    if (setEscape(set))
      return setNode(std::move(set));
    if (!error_.empty())
      return nullptr;
    uint32_t cp;
    if (!charEscape(cp))
      return fail("escape sequence is not supported");
    return charNode(cp);
  }

  /// One member of a class that may begin a range; `isSet` tells which of the two came out.
  bool classMember(uint32_t &cp, CharSet &set, bool &isSet) {
    isSet = false;
    if (*p_ != '\\') {
      cp = decodeValid(p_);
      return true;
    }
    ++p_;
    if (p_ == end_)
      return failed("end pattern at escape");
    if (*p_ == 'b') {
      ++p_;
      cp = 8;
      return true;
    }
    if (setEscape(set)) {
      if (set.props & CharSet::Word) // in a class \w is the plain property
        set.props = CharSet::PosixWord;
      isSet = true;
      return true;
    }
    if (!error_.empty())
      return false;
    if (!charEscape(cp))
      return failed("escape sequence is not supported");
    return true;
  }

  /// The class behind its '['.
  bool charClass(CharSet &out, int depth) {
    if (depth > kMaxDepth)
      return failed("classes are nested too deeply");
    out.negate = eat("^");
    CharSet *current = &out;
    CharSet operand; // the right side of a &&
    bool inOperand = false, first = true;
    auto closeOperand = [&] {
      if (inOperand)
        out.intersections.push_back(std::move(operand));
      operand = CharSet();
    };
    for (;; first = false) {
      if (p_ == end_)
        return failed("premature end of char-class");
      if (*p_ == ']' && !first) {
        ++p_;
        closeOperand();
        return true;
      }
      if (eat("&&")) {
        closeOperand();
        inOperand = true;
        current = &operand;
        continue;
      }
      if (eat("[:")) {
        CharSet set;
        bool negate = eat("^");
        const char *from = p_;
        while (p_ < end_ && *p_ != ':' && *p_ != ']')
          ++p_;
        std::string_view name(from, static_cast<size_t>(p_ - from));
        if (!eat(":]") || !namedSet(name, set))
          return failed("unknown bracket class");
        set.negate = negate;
        current->unions.push_back(std::move(set));
        continue;
      }
      if (eat("[")) {
        CharSet set;
        if (!charClass(set, depth + 1))
          return false;
        current->unions.push_back(std::move(set));
        continue;
      }
      uint32_t low = 0;
      CharSet set;
      bool isSet;
      if (!classMember(low, set, isSet))
        return false;
      if (isSet) {
        current->unions.push_back(std::move(set));
        continue;
      }
      if (end_ - p_ >= 2 && p_[0] == '-' && p_[1] != ']') {
        const char *saved = p_++;
        uint32_t high = 0;
        CharSet right;
        if (*p_ == '[') { // [a-[b]]: the dash is itself
          p_ = saved;
        } else {
          if (!classMember(high, right, isSet))
            return false;
          if (isSet) {
            current->ranges.push_back({low, low});
            current->ranges.push_back({'-', '-'});
            current->unions.push_back(std::move(right));
            continue;
          }
          if (high < low)
            return failed("empty range in char class");
          current->ranges.push_back({low, high});
          continue;
        }
      }
      current->ranges.push_back({low, low});
    }
  }
};

} // namespace

NodePtr parse(std::string_view pattern, std::string &error) { return Parser(pattern, error).parse(); }

} // namespace ingot::token::regex
