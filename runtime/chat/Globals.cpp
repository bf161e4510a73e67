// Global functions of the template language: range, dict, namespace, joiner, raise_exception,
// strftime_now.
#include "runtime/chat/Interp.h"

#include <algorithm>
#include <cstdio>

namespace ingot::chat {

namespace {
// The sandbox of Jinja has the same bound.
constexpr int64_t kMaxRange = 100000;

Value globalRange(Interp &in, const Value &, CallArgs &args) {
  Value a[3];
  if (!in.bind("range", args, {"start", "stop", "step"}, 1, a))
    return {};
  int64_t start = 0, stop = 0, step = 1;
  if (a[1].isMissing()) {
    if (!in.intArg("range", a[0], 0, stop))
      return {};
  } else if (!in.intArg("range", a[0], 0, start) || !in.intArg("range", a[1], 0, stop) ||
             !in.intArg("range", a[2], 1, step)) {
    return {};
  }
  if (step == 0)
    return in.fail("range() step must not be zero");
  uint64_t span = step > 0 ? (stop > start ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start) : 0)
                           : (start > stop ? static_cast<uint64_t>(start) - static_cast<uint64_t>(stop) : 0);
  uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  uint64_t count = span == 0 ? 0 : (span - 1) / stride + 1;
  if (count > static_cast<uint64_t>(kMaxRange))
    return in.fail("range of " + std::to_string(count) + " items is too long (limit " +
                   std::to_string(kMaxRange) + ")");
  return Value::object(in.heap.make<RangeObj>(start, stop, step, static_cast<int64_t>(count)));
}

/// dict(...) and namespace(...): a mapping or pairs, then keywords.
bool fillMapping(Interp &in, const char *name, CallArgs &args, DictObj &into) {
  if (args.pos.size() > 1) {
    in.fail(std::string(name) + "() takes at most 1 positional argument");
    return false;
  }
  if (!args.pos.empty()) {
    const Value &v = args.pos[0];
    if (v.is(Kind::Dict)) {
      for (const auto &e : v.as<DictObj>()->entries)
        if (in.tick() && !in.bad())
          into.set(e.first, e.second);
    } else {
      std::vector<Value> pairs;
      if (!in.items(v, pairs))
        return false;
      for (const Value &p : pairs) {
        std::vector<Value> pair;
        if (!in.items(p, pair))
          return false;
        if (pair.size() != 2 || !in.hashable(pair[0])) {
          in.fail(std::string(name) + "() needs a mapping or pairs");
          return false;
        }
        into.set(pair[0], pair[1]);
      }
    }
  }
  for (const auto &kw : args.kw)
    into.set(in.str(kw.first), kw.second);
  return !in.bad();
}

Value globalDict(Interp &in, const Value &, CallArgs &args) {
  Value d = in.dict();
  return fillMapping(in, "dict", args, *d.as<DictObj>()) ? d : Value();
}

Value globalNamespace(Interp &in, const Value &, CallArgs &args) {
  Value d = Value::object(in.heap.make<DictObj>(Kind::Namespace));
  return fillMapping(in, "namespace", args, *d.as<DictObj>()) ? d : Value();
}

Value joinerCall(Interp &in, const Value &self, CallArgs &args) {
  if (!in.bind("joiner", args, {}, 0, nullptr))
    return {};
  NativeObj &j = *self.as<NativeObj>();
  return j.position++ == 0 ? in.str("") : j.state[0];
}

Value globalJoiner(Interp &in, const Value &, CallArgs &args) {
  Value a[1];
  if (!in.bind("joiner", args, {"sep"}, 0, a))
    return {};
  NativeObj *j = in.heap.make<NativeObj>("joiner", joinerCall);
  Value v = Value::object(j);
  j->state.push_back(a[0].isMissing() ? in.str(", ") : a[0]);
  return v;
}

Value raiseException(Interp &in, const Value &, CallArgs &args) {
  Value a[1];
  if (!in.bind("raise_exception", args, {"message"}, 1, a))
    return {};
  Value text = in.toStr(a[0]);
  return in.bad() ? Value() : in.raise(text.as<StrObj>()->bytes);
}

Value strftimeNowCall(Interp &in, const Value &, CallArgs &args) {
  Value a[1];
  if (!in.bind("strftime_now", args, {"format"}, 1, a))
    return {};
  if (!a[0].isString())
    return in.fail("strftime_now() needs a string");
  return in.strftimeNow(a[0].as<StrObj>()->view());
}

constexpr GlobalEntry kGlobals[] = {
    {"range", globalRange},
    {"dict", globalDict},
    {"namespace", globalNamespace},
    {"joiner", globalJoiner},
    {"raise_exception", raiseException},
    {"strftime_now", strftimeNowCall},
};

/// Number of the ISO 8601 week, and the year it belongs to.
void isoWeek(const std::tm &t, int &week, int &year) {
  int weekday = (t.tm_wday + 6) % 7; // Monday is 0
  auto weeks = [&](int y) {
    auto p = [](int n) { return (n + n / 4 - n / 100 + n / 400) % 7; };
    return p(y) == 4 || p(y - 1) == 3 ? 53 : 52;
  };
  year = t.tm_year + 1900;
  week = (t.tm_yday - weekday + 10) / 7;
  if (week < 1)
    week = weeks(--year);
  else if (week > weeks(year)) {
    week = 1;
    ++year;
  }
}
} // namespace

const GlobalEntry *globalTable(size_t &count) {
  count = std::size(kGlobals);
  return kGlobals;
}

/// The directives of strftime in the C locale; the process locale plays no part.
Value Interp::strftimeNow(std::string_view format) {
  static constexpr const char *days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                         "Thursday", "Friday", "Saturday"};
  static constexpr const char *months[] = {"January",   "February", "March",    "April",
                                           "May",       "June",     "July",     "August",
                                           "September", "October",  "November", "December"};
  std::tm t{};
  if (opts.now) {
    t = *opts.now;
  } else {
    std::time_t seconds = std::time(nullptr);
    localtime_r(&seconds, &t);
  }
  if (t.tm_wday < 0 || t.tm_wday > 6 || t.tm_mon < 0 || t.tm_mon > 11)
    return fail("the clock given for strftime_now is no date");
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 >= format.size()) {
      out += format[i];
      continue;
    }
    char flag = 0;
    if ((format[i + 1] == '-' || format[i + 1] == '_' || format[i + 1] == '0') && i + 2 < format.size())
      flag = format[++i];
    char directive = format[++i];
    auto number = [&](long value, int width, char fill = '0') {
      char buffer[32];
      if (flag == '_')
        fill = ' ';
      else if (flag == '0')
        fill = '0';
      std::snprintf(buffer, sizeof(buffer), fill == '0' ? "%0*ld" : "%*ld", flag == '-' ? 1 : width, value);
      out += buffer;
    };
    auto nested = [&](std::string_view f) {
      Value v = strftimeNow(f);
      if (!bad())
        out += v.as<StrObj>()->bytes;
    };
    int hour12 = t.tm_hour % 12 == 0 ? 12 : t.tm_hour % 12, isoYear = 0, week = 0;
    isoWeek(t, week, isoYear);
    switch (directive) {
    case 'a':
      out.append(days[t.tm_wday], 3);
      break;
    case 'A':
      out += days[t.tm_wday];
      break;
    case 'b':
    case 'h':
      out.append(months[t.tm_mon], 3);
      break;
    case 'B':
      out += months[t.tm_mon];
      break;
    case 'c':
      nested("%a %b %e %H:%M:%S %Y");
      break;
    case 'C':
      number((t.tm_year + 1900) / 100, 2);
      break;
    case 'd':
      number(t.tm_mday, 2);
      break;
    case 'D':
    case 'x':
      nested("%m/%d/%y");
      break;
    case 'e':
      number(t.tm_mday, 2, ' ');
      break;
    case 'f':
      out += "000000";
      break;
    case 'F':
      nested("%Y-%m-%d");
      break;
    case 'g':
      number(isoYear % 100, 2);
      break;
    case 'G':
      number(isoYear, 4);
      break;
    case 'H':
      number(t.tm_hour, 2);
      break;
    case 'I':
      number(hour12, 2);
      break;
    case 'j':
      number(t.tm_yday + 1, 3);
      break;
    case 'k':
      number(t.tm_hour, 2, ' ');
      break;
    case 'l':
      number(hour12, 2, ' ');
      break;
    case 'm':
      number(t.tm_mon + 1, 2);
      break;
    case 'M':
      number(t.tm_min, 2);
      break;
    case 'n':
      out += '\n';
      break;
    case 'p':
      out += t.tm_hour < 12 ? "AM" : "PM";
      break;
    case 'r':
      nested("%I:%M:%S %p");
      break;
    case 'R':
      nested("%H:%M");
      break;
    case 'S':
      number(t.tm_sec, 2);
      break;
    case 't':
      out += '\t';
      break;
    case 'T':
    case 'X':
      nested("%H:%M:%S");
      break;
    case 'u':
      number(t.tm_wday == 0 ? 7 : t.tm_wday, 1);
      break;
    case 'U':
      number((t.tm_yday + 7 - t.tm_wday) / 7, 2);
      break;
    case 'V':
      number(week, 2);
      break;
    case 'w':
      number(t.tm_wday, 1);
      break;
    case 'W':
      number((t.tm_yday + 7 - (t.tm_wday + 6) % 7) / 7, 2);
      break;
    case 'y':
      number(t.tm_year % 100, 2);
      break;
    case 'Y':
      number(t.tm_year + 1900, 1);
      break;
    case 'z':
    case 'Z':
      break; // the clock has no zone, as datetime.now() has none
    case '%':
      out += '%';
      break;
    default:
      return fail(std::string("strftime_now: unsupported directive '%") + directive + "'");
    }
  }
  return str(out);
}

} // namespace ingot::chat
