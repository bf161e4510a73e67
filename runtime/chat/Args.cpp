// Binding of arguments to the parameters of built-in functions (see Interp.h).
#include "runtime/chat/Interp.h"

namespace ingot::chat {

bool Interp::bind(const char *function, CallArgs &args, std::initializer_list<const char *> names,
                  size_t required, Value *out) {
  for (size_t i = 0; i < names.size(); ++i)
    out[i] = Value::missing();
  if (args.pos.size() > names.size()) {
    fail(std::string(function) + "() takes at most " + std::to_string(names.size()) + " arguments (" +
         std::to_string(args.pos.size()) + " given)");
    return false;
  }
  for (size_t i = 0; i < args.pos.size(); ++i)
    out[i] = args.pos[i];
  for (const auto &kw : args.kw) {
    size_t i = 0;
    while (i < names.size() && kw.first != names.begin()[i])
      ++i;
    if (i == names.size()) {
      fail(std::string(function) + "() has no parameter '" + kw.first + "'");
      return false;
    }
    if (!out[i].isMissing()) {
      fail(std::string(function) + "() got two values for '" + kw.first + "'");
      return false;
    }
    out[i] = kw.second;
  }
  for (size_t i = 0; i < required; ++i)
    if (out[i].isMissing()) {
      fail(std::string(function) + "() misses the argument '" + names.begin()[i] + "'");
      return false;
    }
  return !bad();
}

bool Interp::intArg(const char *function, const Value &v, int64_t fallback, int64_t &out) {
  out = fallback;
  if (v.isMissing())
    return true;
  if (v.isUndefined()) {
    failUndefined(v);
    return false;
  }
  if (!v.isIntegral()) {
    fail(std::string(function) + "() needs an integer, not " + typeName(v));
    return false;
  }
  out = v.asInt();
  return true;
}

} // namespace ingot::chat
