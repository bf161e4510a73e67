//===- TuneProfile.cpp - schedules that were measured, as a text file -----------------------------===//
#include "compiler/support/TuneProfile.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <algorithm>

using namespace llvm;

namespace ingot {

namespace {

constexpr int64_t formatVersion = 1;
constexpr uint64_t mostBytes = uint64_t(16) << 20;
/// Above every number that a kernel or a measurement has.
constexpr int64_t mostNumber = int64_t(1) << 48;

/// "name=value ..." in a fixed order; fields with the value that they have without it are left out.
class Fields {
public:
  explicit Fields(raw_ostream &os) : os(os) {}
  void number(StringRef name, int64_t value) { os << " " << name << "=" << value; }
  void number(StringRef name, int64_t value, int64_t usual) {
    if (value != usual)
      number(name, value);
  }
  void word(StringRef name, StringRef value) {
    if (!value.empty())
      os << " " << name << "=" << value;
  }

private:
  raw_ostream &os;
};

bool readNumber(StringRef text, int64_t &out, int64_t least) {
  return !text.getAsInteger(10, out) && out >= least && out <= mostNumber;
}

bool isWord(StringRef text) {
  return !text.empty() && all_of(text, [](char c) { return isAlnum(c) || c == '_'; });
}

/// Reads "name=value" fields; each once, none unknown. Reports the first fault.
class FieldReader {
public:
  explicit FieldReader(StringRef text) {
    SmallVector<StringRef, 16> words;
    text.split(words, ' ', -1, /*KeepEmpty=*/false);
    for (StringRef word : words) {
      auto [name, value] = word.split('=');
      if (!word.contains('=') || name.empty() || value.empty())
        fail("'" + word + "' is not NAME=VALUE");
      else if (!fields.try_emplace(name, value).second)
        fail("'" + name + "' stands twice");
    }
  }
  void number(StringRef name, int64_t &out, bool needed, int64_t least = 0) {
    auto it = fields.find(name);
    if (it == fields.end()) {
      if (needed)
        fail("'" + name + "' is missing");
      return;
    }
    if (!readNumber(it->second, out, least))
      fail("'" + name + "=" + it->second + "' is no number in range");
    fields.erase(it);
  }
  void word(StringRef name, std::string &out, bool needed) {
    auto it = fields.find(name);
    if (it == fields.end()) {
      if (needed)
        fail("'" + name + "' is missing");
      return;
    }
    if (!isWord(it->second))
      fail("'" + name + "=" + it->second + "' is no word");
    out = it->second.str();
    fields.erase(it);
  }
  void words(StringRef name, std::vector<std::string> &out) {
    auto it = fields.find(name);
    if (it == fields.end())
      return;
    SmallVector<StringRef> list;
    it->second.split(list, ',');
    for (StringRef one : list) {
      if (!isWord(one))
        fail("'" + name + "=" + it->second + "' is no list of words");
      out.push_back(one.str());
    }
    fields.erase(it);
  }
  /// Empty where all was read and right.
  std::string fault() {
    if (!fields.empty())
      fail("unknown field '" + fields.begin()->first() + "'");
    return what;
  }

private:
  void fail(const Twine &text) {
    if (what.empty())
      what = text.str();
  }
  StringMap<StringRef> fields;
  std::string what;
};

std::string readKey(StringRef text, KernelQuery &q) {
  auto [family, rest] = text.split(' ');
  if (!isWord(family))
    return "no kernel family";
  q.family = family.str();
  FieldReader in(rest);
  std::string domain, numerics;
  in.word("isa", q.isa, true);
  in.number("rows", q.rows, true);
  in.word("domain", domain, false);
  in.number("n", q.n, false);
  in.number("k", q.k, false);
  in.word("scheme", q.scheme, false);
  in.number("act", q.actBlock, false);
  in.words("keys", q.keys);
  in.number("q_heads", q.qHeads, false);
  in.number("kv_heads", q.kvHeads, false);
  in.number("head", q.headDim, false);
  in.number("v_head", q.vDim, false);
  in.number("rotary", q.rotaryDim, false);
  in.word("kv", q.kvDtype, false);
  if (!domain.empty() && domain != "out")
    return "domain '" + domain + "' is not out";
  q.outDomain = !domain.empty();
  in.word("numerics", numerics, false);
  if (!numerics.empty() && numerics != "fast")
    return "numerics '" + numerics + "' is not fast";
  q.fast = !numerics.empty();
  return in.fault();
}

std::string readSchedule(StringRef text, KernelCandidate &c) {
  FieldReader in(text);
  in.word("dot", c.dot, false);
  in.number("vector", c.vector, true, 1);
  in.number("panels", c.panels, true, 1);
  in.number("rows", c.rows, true, 1);
  in.number("unroll", c.unroll, true, 1);
  in.number("prefetch", c.prefetch, true);
  in.number("chunk", c.chunk, true);
  return in.fault();
}

std::string readMeasured(StringRef text, TuneEntry &e) {
  FieldReader in(text);
  in.number("threads", e.threads, true, 1);
  in.number("default", e.defaultNs, true);
  in.number("chosen", e.chosenNs, true);
  return in.fault();
}

} // namespace

std::string tuneKey(const KernelQuery &q) {
  std::string text;
  raw_string_ostream os(text);
  os << q.family;
  Fields f(os);
  f.word("isa", q.isa);
  f.number("rows", q.rows);
  f.word("domain", q.outDomain ? "out" : "");
  f.number("n", q.n, 0);
  f.number("k", q.k, 0);
  f.word("scheme", q.scheme);
  f.number("act", q.actBlock, -1);
  f.word("keys", join(q.keys, ","));
  f.number("q_heads", q.qHeads, 0);
  f.number("kv_heads", q.kvHeads, 0);
  f.number("head", q.headDim, 0);
  f.number("v_head", q.vDim, 0);
  f.number("rotary", q.rotaryDim, 0);
  f.word("kv", q.kvDtype);
  f.word("numerics", q.fast ? "fast" : "");
  return text;
}

std::string tuneSchedule(const KernelCandidate &c) {
  std::string text;
  raw_string_ostream os(text);
  if (!c.dot.empty())
    os << "dot=" << c.dot << " ";
  os << "vector=" << c.vector << " panels=" << c.panels << " rows=" << c.rows << " unroll=" << c.unroll
     << " prefetch=" << c.prefetch << " chunk=" << c.chunk;
  return text;
}

const TuneEntry *TuneProfile::find(StringRef key) const {
  auto it = byKey.find(key);
  return it == byKey.end() ? nullptr : &list[it->second];
}

void TuneProfile::add(TuneEntry entry) {
  bool isNew = byKey.try_emplace(entry.key, list.size()).second;
  assert(isNew && "one entry a prototype");
  (void)isNew;
  list.push_back(std::move(entry));
}

std::string TuneProfile::print() const {
  std::string text;
  raw_string_ostream os(text);
  os << "ingot-tune " << formatVersion << " kernels " << made << "\n";
  for (const TuneEntry &e : list)
    os << e.key << " | " << e.schedule << " | threads=" << e.threads << " default=" << e.defaultNs
       << " chosen=" << e.chosenNs << "\n";
  return text;
}

std::string TuneProfile::hash() const {
  std::vector<std::string> lines;
  for (const TuneEntry &e : list)
    lines.push_back(e.key + " | " + e.schedule + "\n");
  std::sort(lines.begin(), lines.end());
  std::string all = std::to_string(made) + "\n";
  for (const std::string &line : lines)
    all += line;
  std::string text;
  raw_string_ostream(text) << format_hex_no_prefix(xxh3_64bits(all), 16);
  return text;
}

Expected<TuneProfile> TuneProfile::parse(StringRef text, StringRef name) {
  size_t number = 0;
  auto fault = [&](const Twine &what) {
    return createStringError(inconvertibleErrorCode(), name + ":" + Twine(number) + ": " + what);
  };
  TuneProfile profile;
  bool begun = false;
  while (!text.empty()) {
    ++number;
    StringRef line;
    std::tie(line, text) = text.split('\n');
    line = line.rtrim("\r ");
    if (!all_of(line, [](unsigned char c) { return c >= 0x20 && c < 0x7f; }))
      return fault("holds bytes that are no text");
    if (!begun) {
      SmallVector<StringRef, 4> words;
      line.split(words, ' ');
      int64_t version;
      if (words.size() != 4 || words[0] != "ingot-tune" || words[2] != "kernels" ||
          !readNumber(words[1], version, 1) || !readNumber(words[3], profile.made, 1))
        return fault(
            "is no profile of ingot tune: the first line is not 'ingot-tune VERSION kernels NUMBER'");
      if (version != formatVersion)
        return fault("format " + Twine(version) + " is not known, only " + Twine(formatVersion));
      begun = true;
      continue;
    }
    if (line.empty() || line.starts_with("#"))
      continue;
    SmallVector<StringRef, 4> parts;
    line.split(parts, '|');
    if (parts.size() != 3)
      return fault("is not 'KERNEL | SCHEDULE | MEASURED'");
    KernelQuery query;
    KernelCandidate candidate;
    TuneEntry entry;
    std::string what = readKey(parts[0].trim(), query);
    if (what.empty())
      what = readSchedule(parts[1].trim(), candidate);
    if (what.empty())
      what = readMeasured(parts[2].trim(), entry);
    if (!what.empty())
      return fault(what);
    entry.key = tuneKey(query);
    entry.isa = query.isa;
    entry.schedule = tuneSchedule(candidate);
    if (profile.find(entry.key))
      return fault("that kernel has an entry above");
    profile.add(std::move(entry));
  }
  if (!begun) {
    number = 1;
    return fault("is empty: no profile of ingot tune");
  }
  return std::move(profile);
}

Expected<TuneProfile> TuneProfile::read(StringRef path) {
  auto cannot = [&](const Twine &what) {
    return createStringError(inconvertibleErrorCode(), "cannot read " + path + ": " + what);
  };
  sys::fs::file_status status;
  if (std::error_code code = sys::fs::status(path, status))
    return cannot(code.message());
  if (status.type() != sys::fs::file_type::regular_file)
    return cannot("it is not a regular file");
  if (status.getSize() > mostBytes)
    return cannot("no profile of ingot tune is that large");
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return cannot(buffer.getError().message());
  return parse((*buffer)->getBuffer(), path);
}

} // namespace ingot
