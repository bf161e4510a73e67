#include "compiler/arch/Rope.h"
#include "compiler/import/Fault.h"
#include "compiler/import/FileView.h"
#include "llvm/Support/Endian.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace ingot::import_;

namespace ingot::arch {

namespace {

constexpr double kTwoPi = 6.283185307179586476925286766559;
constexpr double kHuge = 1e12;

/// Attention factor of yarn for a context extension of `factor`.
double yarnScale(double factor, double mscale) {
  return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

struct YarnParameters {
  double factor, betaFast = 32, betaSlow = 1, original;
  bool truncate = true;
};

void applyYarn(std::vector<double> &inv, double base, int64_t rotaryDim, const YarnParameters &p) {
  // Dimension whose wave turns `rotations` times within the original context.
  auto dimension = [&](double rotations) {
    return rotaryDim * std::log(p.original / (rotations * kTwoPi)) / (2 * std::log(base));
  };
  double low = dimension(p.betaFast), high = dimension(p.betaSlow);
  if (p.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(rotaryDim - 1));
  if (low == high)
    high += 0.001;
  for (size_t i = 0; i < inv.size(); ++i) {
    double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    inv[i] = inv[i] / p.factor * ramp + inv[i] * (1 - ramp);
  }
}

void applyLlama3(std::vector<double> &inv, double factor, double lowFactor, double highFactor,
                 double original) {
  for (double &f : inv) {
    double wave = kTwoPi / f;
    if (wave > original / lowFactor) {
      f /= factor;
    } else if (wave >= original / highFactor) {
      double smooth = (original / wave - lowFactor) / (highFactor - lowFactor);
      f = (1 - smooth) * f / factor + smooth * f;
    }
  }
}

/// Members of a rope object in config.json.
class RopeObject {
public:
  RopeObject(Fields &fields, llvm::StringRef path, const JsonValue *object)
      : fields(fields), path(path.str()), object(object) {}

  const JsonValue *get(const char *key) const {
    const JsonValue *value = object ? object->get(key) : nullptr;
    return value && !value->isNull() ? value : nullptr;
  }
  std::optional<double> optNumber(const char *key, double low, double high) {
    const JsonValue *value = get(key);
    if (!value)
      return std::nullopt;
    auto v = value->number();
    if (!v || !(*v >= low && *v <= high)) {
      fields.fail("field '" + path + "." + key + "' is no number in the allowed range");
      return std::nullopt;
    }
    return v;
  }
  double number(const char *key, double low, double high) {
    if (!get(key))
      fields.fail("field '" + path + "." + key + "' is missing");
    return optNumber(key, low, high).value_or(std::max(low, 1.0));
  }
  bool boolean(const char *key, bool fallback) {
    const JsonValue *value = get(key);
    if (value && !value->boolean())
      fields.fail("field '" + path + "." + key + "' is neither true nor false");
    return value ? value->boolean().value_or(fallback) : fallback;
  }
  std::vector<double> numbers(const char *key, size_t count) {
    const JsonValue *value = get(key);
    std::vector<double> out;
    if (value && value->array())
      for (const JsonValue &entry : *value->array())
        if (auto v = entry.number(); v && *v > 0 && *v < kHuge)
          out.push_back(*v);
    if (!value || !value->array() || out.size() != value->array()->size() || out.size() != count)
      fields.fail("field '" + path + "." + key + "' is no array of " + llvm::Twine(count) +
                  " positive numbers");
    out.resize(count, 1.0);
    return out;
  }
  std::string type() {
    const JsonValue *value = get("rope_type");
    if (!value)
      value = get("type");
    if (!value)
      return "default";
    if (!value->string()) {
      fields.fail("field '" + path + ".rope_type' is no string");
      return "default";
    }
    return *value->string();
  }

private:
  Fields &fields;
  std::string path;
  const JsonValue *object;
};

/// Values of a small f32 vector that the file holds as a tensor.
std::vector<double> readVector(Fields &fields, llvm::StringRef name, size_t count) {
  const ModelSource &model = fields.model();
  const TensorInfo *tensor = model.find(name);
  std::vector<double> out(count, 1.0);
  std::string what = model.files()[tensor->file] + ": tensor '" + name.str() + "': ";
  if (tensor->scheme != "f32" || tensor->shape.size() != 1 ||
      tensor->shape[0] != static_cast<int64_t>(count)) {
    fields.failRaw(what + "expected " + std::to_string(count) + " values of type f32");
    return out;
  }
  auto view = viewFile(model.files()[tensor->file]);
  if (!view) {
    fields.failRaw(llvm::toString(view.takeError()));
    return out;
  }
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits = llvm::support::endian::read32le((*view)->getBufferStart() + tensor->offset + 4 * i);
    float value;
    std::memcpy(&value, &bits, sizeof value);
    if (!(value > 0 && value < kHuge)) {
      fields.failRaw(what + "element " + std::to_string(i) + " is not a positive number");
      return out;
    }
    out[i] = value;
  }
  return out;
}

/// A member that no method here reads would be dropped silently otherwise: sections of several position axes,
/// parameters per layer type, ...
void refuseUnknownMembers(Fields &fields, llvm::StringRef path, const JsonValue::Object &object) {
  constexpr llvm::StringLiteral known[] = {"rope_theta",
                                           "rope_type",
                                           "type",
                                           "factor",
                                           "low_freq_factor",
                                           "high_freq_factor",
                                           "beta_fast",
                                           "beta_slow",
                                           "truncate",
                                           "mscale",
                                           "mscale_all_dim",
                                           "attention_factor",
                                           "short_factor",
                                           "long_factor",
                                           "original_max_position_embeddings",
                                           "finetuned",
                                           "partial_rotary_factor"};
  for (const auto &[key, value] : object)
    if (!value.isNull() && !llvm::is_contained(known, llvm::StringRef(key)))
      fields.fail("field '" + path + "." + printable(key) + "' is not supported");
}

double longropeScale(double extension, double original) {
  return extension <= 1 ? 1.0 : std::sqrt(1 + std::log(extension) / std::log(original));
}

void divide(std::vector<double> &inv, const std::vector<double> &factors) {
  for (size_t i = 0; i < inv.size(); ++i)
    inv[i] /= factors[i];
}

} // namespace

std::vector<double> inverseFrequencies(double base, int64_t rotaryDim) {
  std::vector<double> inv(rotaryDim / 2);
  for (size_t i = 0; i < inv.size(); ++i)
    inv[i] = std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(rotaryDim));
  return inv;
}

RopeConfig hfRope(Fields &fields, llvm::StringRef path, const JsonValue *parameters, double base,
                  const RopeRequest &request) {
  RopeConfig rope;
  rope.style = request.style;
  rope.rotaryDim = request.headDim;
  if (parameters && !parameters->object()) {
    fields.fail("field '" + path + "' is " + parameters->kindName() + ", expected an object");
    parameters = nullptr;
  }
  if (parameters)
    refuseUnknownMembers(fields, path, *parameters->object());
  RopeObject o(fields, path, parameters);
  base = o.optNumber("rope_theta", 1e-3, kHuge).value_or(base);
  if (auto partial = o.optNumber("partial_rotary_factor", 0, kHuge); partial && *partial != 1.0)
    fields.fail("field '" + path + ".partial_rotary_factor' is not supported");
  rope.invFreq = inverseFrequencies(base, rope.rotaryDim);
  rope.name = o.type();
  double modelContext = static_cast<double>(request.modelContext);
  if (rope.name == "default")
    return rope;
  if (rope.name == "linear") {
    double factor = o.number("factor", 1e-3, kHuge);
    for (double &f : rope.invFreq)
      f /= factor;
  } else if (rope.name == "llama3") {
    double factor = o.number("factor", 1e-3, kHuge), low = o.number("low_freq_factor", 1e-6, kHuge),
           high = o.number("high_freq_factor", 1e-6, kHuge),
           original = o.number("original_max_position_embeddings", 1, kHuge);
    if (!(high > low) && fields.ok())
      fields.fail("field '" + path + ".high_freq_factor' must exceed low_freq_factor");
    if (fields.ok())
      applyLlama3(rope.invFreq, factor, low, high, original);
  } else if (rope.name == "yarn") {
    YarnParameters p;
    p.original = o.optNumber("original_max_position_embeddings", 1, kHuge).value_or(modelContext);
    p.factor = o.get("factor") ? o.number("factor", 1e-3, kHuge) : modelContext / p.original;
    p.betaFast = o.optNumber("beta_fast", 1e-6, kHuge).value_or(32);
    p.betaSlow = o.optNumber("beta_slow", 1e-6, kHuge).value_or(1);
    p.truncate = o.boolean("truncate", true);
    auto mscale = o.optNumber("mscale", 0, kHuge), all = o.optNumber("mscale_all_dim", 0, kHuge);
    if (auto fixed = o.optNumber("attention_factor", 1e-6, kHuge))
      rope.factor = *fixed;
    else if (mscale && all && *mscale > 0 && *all > 0)
      rope.factor = yarnScale(p.factor, *mscale) / yarnScale(p.factor, *all);
    else
      rope.factor = yarnScale(p.factor, 1);
    if (fields.ok())
      applyYarn(rope.invFreq, base, rope.rotaryDim, p);
  } else if (rope.name == "longrope" || rope.name == "su") {
    rope.name = "longrope";
    auto original = o.optNumber("original_max_position_embeddings", 2, kHuge);
    if (!original)
      original = fields.optNumber({"original_max_position_embeddings", nullptr}, 2, kHuge);
    double limit = original.value_or(modelContext);
    double extension = original ? modelContext / limit : o.optNumber("factor", 1e-3, kHuge).value_or(1.0);
    auto shorts = o.numbers("short_factor", rope.invFreq.size()),
         longs = o.numbers("long_factor", rope.invFreq.size());
    divide(rope.invFreq, static_cast<double>(request.context) > limit ? longs : shorts);
    rope.factor = o.optNumber("attention_factor", 1e-6, kHuge).value_or(longropeScale(extension, limit));
  } else if (rope.name == "dynamic") {
    fields.fail("field '" + path +
                ".rope_type': 'dynamic' is not supported: its frequencies depend on the length of "
                "the text, so earlier tokens would have to be computed again");
  } else {
    fields.fail("field '" + path + ".rope_type': unknown type '" + printable(rope.name) + "'");
  }
  return rope;
}

RopeConfig hfDefaultRope(Fields &fields, const RopeRequest &request) {
  double base = fields.number({"rope_theta", nullptr}, 1e-3, kHuge, request.defaultBase);
  const JsonValue *config = fields.model().config();
  auto object = [&](const char *key) {
    const JsonValue *value = config->get(key);
    return value && !value->isNull() ? value : nullptr;
  };
  const JsonValue *v5 = object("rope_parameters"), *v4 = object("rope_scaling");
  if (!v5 || !v4)
    return hfRope(fields, v5 ? "rope_parameters" : "rope_scaling", v5 ? v5 : v4, base, request);
  // Files written by both generations of the library carry both: they must agree.
  RopeConfig a = hfRope(fields, "rope_parameters", v5, base, request);
  RopeConfig b = hfRope(
      fields, "rope_scaling", v4,
      v5->get("rope_theta") && v5->get("rope_theta")->number() ? *v5->get("rope_theta")->number() : base,
      request);
  if (fields.ok() && (a.name != b.name || a.invFreq != b.invFreq || a.factor != b.factor))
    fields.fail("fields 'rope_parameters' and 'rope_scaling' contradict each other");
  return a;
}

RopeConfig ggufRope(Fields &fields, const RopeRequest &request) {
  RopeConfig rope;
  rope.style = request.style;
  Key dimensionKey{nullptr, "rope.dimension_count"};
  rope.rotaryDim = fields.integer(dimensionKey, 2, 1 << 16, request.headDim);
  if (rope.rotaryDim > request.headDim || rope.rotaryDim % 2) {
    fields.fail(dimensionKey, "value " + llvm::Twine(rope.rotaryDim) + " is odd or more than the head's " +
                                  llvm::Twine(request.headDim) + " dimensions");
    rope.rotaryDim = request.headDim;
  }
  double base = fields.number({nullptr, "rope.freq_base"}, 1e-3, kHuge, request.defaultBase);
  rope.invFreq = inverseFrequencies(base, rope.rotaryDim);

  Key factorKey{nullptr, "rope.scaling.factor"}, typeKey{nullptr, "rope.scaling.type"};
  // Before rope.scaling.* there was one key for the linear factor.
  double oldFactor = fields.number({nullptr, "rope.scale_linear"}, 0, kHuge, 0);
  double factor = fields.number(factorKey, 0, kHuge, oldFactor);
  rope.name = fields.optString(typeKey).value_or(factor > 0 ? "linear" : "none");
  auto original = fields.optNumber({nullptr, "rope.scaling.original_context_length"}, 1, kHuge);
  double attention = fields.number({nullptr, "rope.scaling.attn_factor"}, 0, kHuge, 1.0);
  double yarnExt = fields.number({nullptr, "rope.scaling.yarn_ext_factor"}, -1e9, 1e9, 1.0);
  double yarnAttention = fields.number({nullptr, "rope.scaling.yarn_attn_factor"}, 0, kHuge, 1.0);
  double betaFast = fields.number({nullptr, "rope.scaling.yarn_beta_fast"}, 1e-6, kHuge, 32);
  double betaSlow = fields.number({nullptr, "rope.scaling.yarn_beta_slow"}, 1e-6, kHuge, 1);
  if (factor == 0)
    factor = 1; // the format's way to say: no scaling
  double limit = original.value_or(static_cast<double>(request.modelContext));

  if (rope.name == "none") {
    rope.name = "default";
  } else if (rope.name == "linear") {
    for (double &f : rope.invFreq)
      f /= factor;
  } else if (rope.name == "yarn") {
    if (yarnExt != 1.0)
      fields.fail(Key{nullptr, "rope.scaling.yarn_ext_factor"}, "only 1 is supported");
    YarnParameters p;
    p.factor = factor;
    p.betaFast = betaFast;
    p.betaSlow = betaSlow;
    p.original = limit;
    applyYarn(rope.invFreq, base, rope.rotaryDim, p);
    rope.factor = yarnScale(factor, 1) * attention * yarnAttention;
  } else if (rope.name != "longrope") {
    fields.fail(typeKey, "unknown or unsupported type '" + printable(rope.name) + "'");
  }

  const ModelSource &model = fields.model();
  const char *shortName = "rope_factors_short.weight", *longName = "rope_factors_long.weight";
  bool hasShort = model.find(shortName), hasLong = model.find(longName);
  if (hasShort != hasLong) {
    fields.fail("tensor '" + llvm::Twine(hasShort ? longName : shortName) + "' is missing");
  } else if (hasShort) {
    rope.name = "longrope";
    bool isLong = static_cast<double>(request.context) > limit;
    divide(rope.invFreq, readVector(fields, isLong ? longName : shortName, rope.invFreq.size()));
    rope.factor = attention;
  } else if (rope.name == "longrope") {
    fields.fail("tensor '" + llvm::Twine(longName) + "' is missing, which rope scaling 'longrope' needs");
  }
  if (model.find("rope_freqs.weight")) {
    divide(rope.invFreq, readVector(fields, "rope_freqs.weight", rope.invFreq.size()));
    if (rope.name == "default")
      rope.name = "factors";
  }
  return rope;
}

} // namespace ingot::arch
