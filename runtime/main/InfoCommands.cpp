//===- InfoCommands.cpp - inspect -----------------------------------------------------------------------===//

#include "runtime/main/Commands.h"
#include "runtime/main/Info.h"

#include <cinttypes>
#include <cstdio>
#include <map>

namespace ingot::main_ {
namespace {

void printPlan(const Json &meta) {
  auto it = meta.find("plan");
  if (it == meta.end())
    return;
  const Json &plan = *it;
  auto line = [&](const char *name, const char *key, const char *note) {
    std::printf("  %-22s %12s  %s\n", name, bytesText(number(plan, key)).c_str(), note);
  };
  std::printf("memory\n");
  line("weights", "weight_bytes", "");
  line("KV cache per token", "kv_token_bytes", "all layers");
  line("KV page", "kv_page_bytes", "16 tokens, all layers");
  line("arena", "arena_bytes", "activations of the largest step, in use as far as its rows reach");
  line("private", "private_bytes", "per worker");
  line("scratch", "scratch_bytes", "per worker");
  line("tokenizer", "tokenizer_bytes", "");
  double context = number(meta, "context");
  std::printf("  %-22s %12s  one sequence of %.0f positions, 2 workers\n", "in all",
              bytesText(number(plan, "weight_bytes") + number(plan, "kv_token_bytes") * context +
                        number(plan, "arena_bytes") + 2 * number(plan, "private_bytes") +
                        2 * number(plan, "scratch_bytes") + number(plan, "tokenizer_bytes"))
                  .c_str(),
              context);
}

} // namespace

int commandInspect(const Options &options, ArtefactLoader &loader) {
  Json meta;
  std::string error;
  if (!loadMeta(options, loader, meta, error))
    return fail(error);
  if (options.json) {
    std::printf("%s\n", meta.dump(2).c_str());
    return ExitOk;
  }
  std::printf("name          %s\narchitecture  %s\nfile          %s\nmade by       %s\n",
              textOf(meta, "name").c_str(), textOf(meta, "arch").c_str(), textOf(meta, "source").c_str(),
              textOf(meta, "build").c_str());
  std::printf("size          %s layers of %s, vocabulary %s, context %s\n", textOf(meta, "layers").c_str(),
              textOf(meta, "hidden").c_str(), textOf(meta, "vocab").c_str(), textOf(meta, "context").c_str());
  std::printf("numerics      %s; KV cache %s\n", textOf(meta, "numerics").c_str(),
              textOf(meta, "kv_dtype").c_str());
  std::printf("tokenizer     %s\n", number(meta.value("plan", Json::object()), "tokenizer_bytes") > 0
                                        ? "yes"
                                        : ("no: " + textOf(meta, "tokenizer_error")).c_str());
  std::printf("chat template %s\n", meta.contains("chat_template") ? "yes"
                                    : meta.contains("chat_template_error")
                                        ? textOf(meta, "chat_template_error").c_str()
                                        : "no");
  if (meta.contains("generation"))
    std::printf("generation    %s\n", meta["generation"].dump().c_str());
  printPlan(meta);

  struct Sum {
    int64_t count = 0;
    double bytes = 0;
  };
  std::map<std::string, Sum> schemes;
  for (const Json &tensor : meta.value("tensors", Json::array())) {
    Sum &sum = schemes[textOf(tensor, "scheme")];
    ++sum.count;
    sum.bytes += number(tensor, "bytes");
  }
  std::printf("formats\n");
  for (const auto &[scheme, sum] : schemes)
    std::printf("  %-8s %5" PRId64 " tensors %12s\n", scheme.c_str(), sum.count,
                bytesText(sum.bytes).c_str());
  for (const Json &variant : meta.value("explain", Json::array())) {
    std::printf("variant %s: %zu kernels, code %s\n", textOf(variant, "isa").c_str(),
                variant.value("kernels", Json::array()).size(),
                bytesText(number(variant, "object_bytes")).c_str());
    for (const Json &program : variant.value("programs", Json::array()))
      std::printf("  rows %4.0f..%-4.0f %4.0f launches, %4.0f stages, arena %s\n",
                  number(program, "min_rows"), number(program, "max_rows"), number(program, "launches"),
                  number(program, "stages"), bytesText(number(program, "arena_bytes")).c_str());
  }
  if (!options.quiet) {
    std::printf("tensors\n");
    for (const Json &tensor : meta.value("tensors", Json::array()))
      std::printf("  %-44s %-6s %-16s %12s\n", textOf(tensor, "name").c_str(),
                  textOf(tensor, "scheme").c_str(), textOf(tensor, "shape").c_str(),
                  bytesText(number(tensor, "bytes")).c_str());
  }
  return ExitOk;
}

} // namespace ingot::main_
