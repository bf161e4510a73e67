//===- VerifyCommand.cpp - compare numbers with a reference, or dump them -------------------------------===//

#include "runtime/main/Commands.h"
#include "runtime/main/Reference.h"
#include "runtime/main/Safetensors.h"

#include "runtime/batch/Evaluate.h"
#include "runtime/weights/OutputPath.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sys/stat.h>
#include <unistd.h>

namespace ingot::main_ {
namespace {

bool exists(const std::string &path) { return access(path.c_str(), R_OK) == 0; }

/// "0,5,7" -> positions in that order, each below `length`.
bool parsePositions(const std::string &text, size_t length, std::vector<uint32_t> &out, std::string &error) {
  const char *at = text.c_str();
  while (*at) {
    char *end = nullptr;
    unsigned long long value = std::strtoull(at, &end, 10);
    if (end == at || *at == '-' || (*end && *end != ',')) {
      error = "--positions: '" + text + "' is no list of positions like 0,5,7";
      return false;
    }
    if (value >= length) {
      error = "--positions: " + std::to_string(value) + " is not below the number of ids, " +
              std::to_string(length);
      return false;
    }
    out.push_back(static_cast<uint32_t>(value));
    at = *end ? end + 1 : end;
  }
  return true;
}

/// Prints what the batching engine generates, as `run` would but for end tokens.
int continueGreedily(Session &session, std::vector<int32_t> ids, int64_t count) {
  std::unique_ptr<batch::Engine> engine = session.createEngine(/*endTokens=*/false);
  batch::RequestOptions request;
  request.maxTokens = count;
  batch::Answer answer;
  batch::Callbacks callbacks;
  callbacks.done = [&answer](const batch::Answer &done) { answer = done; };
  uint64_t id;
  std::string error;
  if (engine->submit(std::move(ids), request, std::move(callbacks), id, error) != batch::SubmitStatus::Ok)
    return fail(error);
  engine->runUntilIdle();
  if (answer.finish == batch::Finish::Error)
    return fail(answer.error);
  if (answer.tokens.size() != static_cast<size_t>(count))
    return fail("the context ends after " + std::to_string(answer.tokens.size()) + " tokens, --greedy " +
                std::to_string(count));
  std::printf("%s\n", nlohmann::json(answer.tokens).dump().c_str());
  return ExitOk;
}

int dump(Session &session, const VerifyCommand &verify, const std::vector<int32_t> &ids,
         const std::string &output) {
  std::string error;
  std::vector<uint32_t> order;
  if (!parsePositions(verify.positions, ids.size(), order, error))
    return fail(error);
  if (order.empty())
    for (uint32_t i = 0; i < ids.size(); ++i)
      order.push_back(i);
  std::vector<uint32_t> wanted(order);
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  Evaluation result;
  if (!evaluateAt(session, ids, wanted, verify.hidden, result, error))
    return fail(error);

  // Rows in the order they were asked for.
  std::map<std::string, DumpArray> arrays;
  auto put = [&](const std::string &name, size_t width, auto &&row) {
    DumpArray &array = arrays[name];
    array.shape = {static_cast<int64_t>(order.size()), static_cast<int64_t>(width)};
    for (uint32_t position : order) {
      size_t index = std::lower_bound(wanted.begin(), wanted.end(), position) - wanted.begin();
      const float *values = row(index);
      array.values.insert(array.values.end(), values, values + width);
    }
  };
  put("logits", session.module().vocab, [&](size_t i) { return result.logits[i].data(); });
  for (const auto &[name, values] : result.hidden) {
    size_t width = values.size() / wanted.size();
    put(name, width, [&, width = width, &values = values](size_t i) { return values.data() + i * width; });
  }
  return writeArrays(output, arrays, error) ? ExitOk : fail(error);
}

} // namespace

int commandVerify(const Options &options, ArtefactLoader &loader) {
  const VerifyCommand &verify = options.verify;
  bool weightsAlone = options.load.verifyWeights && verify.reference.empty() && verify.ids.empty();
  if ((verify.reference.empty() == verify.ids.empty() && !weightsAlone) ||
      verify.ids.empty() != (verify.dump.empty() && !verify.greedy)) {
    std::fprintf(stderr,
                 "error: give --reference FOLDER|PREFIX, or --ids FILE with --dump FILE or --greedy N, "
                 "or --weights\n");
    return ExitUsage;
  }
  std::string reference = verify.reference;
  while (reference.size() > 1 && reference.back() == '/')
    reference.pop_back();
  enum { Golden, Real } kind = Golden;
  std::string json;
  if (!reference.empty()) {
    if (exists(reference + "/golden.json")) {
      json = reference + "/golden.json";
    } else if (exists(reference + ".golden.json")) {
      json = reference + ".golden.json";
    } else if (exists(reference + "/model.json") && exists(reference + "/prompts.json")) {
      kind = Real;
    } else {
      return fail(reference +
                  ": no reference: neither a folder with golden.json or model.json, nor the start of a "
                  "name that ends in .golden.json");
    }
  }
  std::string error, output;
  if (!verify.dump.empty() &&
      !weights::resolveOutput(verify.dump, {verify.ids, options.load.model}, output, error))
    return fail(error);
  std::unique_ptr<Artefact> artefact = loader.open(options.load, options.quiet, error);
  if (!artefact)
    return fail(error);
  std::unique_ptr<Session> session = Session::create(std::move(artefact), options.load, 8, error);
  if (!session)
    return fail(error);
  if (weightsAlone) {
    std::printf("the packed weights are whole\n");
    return ExitOk;
  }
  if (!verify.ids.empty()) {
    nlohmann::json list;
    std::vector<int32_t> ids;
    if (!readJsonFile(verify.ids, list, error))
      return fail(error);
    if (!readIds(list, ids) || ids.empty())
      return fail(verify.ids + ": expected a JSON array of token ids");
    int status = output.empty() ? ExitOk : dump(*session, verify, ids, output);
    return status == ExitOk && verify.greedy ? continueGreedily(*session, std::move(ids), verify.greedy)
                                             : status;
  }

  bool exact = std::string(session->module().isa) == "ref";
  Checks checks;
  bool ran = false;
  // A reference whose members are absent or of the wrong kind shows up as an exception of the JSON library.
  try {
    ran = kind == Real ? verifyReal(*session, reference, exact, checks, error)
                       : verifyGolden(*session, json, exact, checks, error);
  } catch (const nlohmann::json::exception &fault) {
    error = (kind == Real ? reference : json) + ": malformed reference: " + fault.what();
  }
  if (!ran)
    return fail(error);
  return checks.report(options.json,
                       session->meta().source + " (" + session->module().isa + ") against " + reference);
}

} // namespace ingot::main_
