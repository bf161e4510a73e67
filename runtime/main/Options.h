//===- Options.h - the commands of `ingot` and of the binaries it makes, as data ------------------------===//
//
// Plain structs; the parser (ParseOptions.cpp) fills them. A flag means the same in every command and in a
// binary.
//
//===------------------------------------------------------------------------------------------------------===//
#ifndef INGOT_RUNTIME_MAIN_OPTIONS_H
#define INGOT_RUNTIME_MAIN_OPTIONS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ingot::main_ {

/// Exit statuses of every command.
enum ExitCode {
  ExitOk = 0,
  ExitError = 1,       ///< a model, a file or the run failed; the message says which
  ExitUsage = 2,       ///< the command line is wrong
  ExitOutOfBounds = 3, ///< `verify` ran, and a number lies outside its bound
  ExitInterrupted = 130
};

enum class Command {
  Compile,
  Tune,
  Run,
  Chat,
  Batch,
  Bench,
  Verify,
  Eval,
  Tokenize,
  Detokenize,
  Template,
  Inspect,
  Explain,
  Ask
};

/// How a model is brought into memory.
struct LoadOptions {
  std::string model;              ///< path; empty for a binary's own
  std::string isa;                ///< forced variant
  std::string kernels = "native"; ///< native or ref
  unsigned threads = 0;           ///< 0: usable cores
  std::optional<int64_t> context;
  std::string kvDtype = "f16";
  std::string numerics = "exact";
  int64_t maxSeqs = 32;
  int64_t chunk = 512;
  int64_t kvPages = 0; ///< 0: what the context and the sequences need
  bool map = false;    ///< map the weights instead of reading them
  std::string configFile = "config.json";
  std::string chatTemplateFile;
  std::string tuneFile;                  ///< measured schedules that compiling uses
  std::string timingsFile;               ///< where compiling writes what it took
  std::optional<double> kernelSeconds;   ///< above it the compile of a kernel is a warning
  bool verbose = false;                  ///< name the slowest kernels of a compile
  bool verifyWeights = false;            ///< check the hash of every packed tensor
  std::vector<std::string> compileFlags; ///< options given that only compiling can obey
};

struct SamplingOptions {
  std::optional<double> temperature, topP, minP, repetitionPenalty;
  std::optional<int64_t> topK;
  double presencePenalty = 0, frequencyPenalty = 0;
  int64_t penaltyWindow = 64;
  std::optional<uint64_t> seed;
  int64_t maxTokens = -1;
  std::vector<std::string> stop;
  std::vector<int64_t> stopIds;
  std::vector<std::string> logitBias; ///< "ID=VALUE"
  bool ignoreEos = false;
  int64_t logprobs = -1;
};

struct CompileCommand {
  std::string output, emit = "exe", target = "native", stopAfter, startFrom, ir;
  std::vector<std::string> printIrAfter;
};

struct TuneCommand {
  std::string output;
  double seconds = 100; ///< of measuring
  bool all = false;     ///< print every schedule that was timed
};

struct TextInput {
  std::string prompt, file;
  std::string dash; ///< "-": the text is on standard input
};

struct BenchCommand {
  std::vector<int64_t> prompt = {512}, generate = {128}, batch = {1}, depth = {0}, threads;
  std::vector<int64_t> mix; ///< prompt rows of mixed steps
  std::string draw = "none";
  int64_t repetitions = 5;
};

struct VerifyCommand {
  std::string reference, ids, dump, positions;
  int64_t greedy = 0; ///< tokens that continue the ids
  bool hidden = false;
};

struct EvalCommand {
  std::string perplexity, choices;
  int64_t context = 512, chunks = 0;
};

struct BatchCommand {
  std::string requests, output;
};

struct TemplateCommand {
  std::string messages; ///< JSON file, or "-"
  std::string tools;
  std::string kwargs; ///< JSON object
  bool noGenerationPrompt = false;
};

struct Options {
  Command command = Command::Run;
  LoadOptions load;
  SamplingOptions sampling;
  CompileCommand compile;
  TuneCommand tune;
  TextInput input;
  BenchCommand bench;
  VerifyCommand verify;
  EvalCommand eval;
  BatchCommand batch;
  TemplateCommand chat;
  std::string system; ///< system prompt of chat
  std::vector<int64_t> ids;
  bool special = false, noBos = false;
  bool json = false, quiet = false;
  bool measure = false; ///< explain
};

/// What to do after parsing: run a command, or end with a status (help was printed, or a message).
struct ParseResult {
  bool run = false;
  int status = 0;
  Options options;
};

/// Parses a command line. `binary`: the program is a compiled model, so commands take no MODEL and `compile`
/// is not there; words that are no command are a question. `version` is printed by --version.
ParseResult parseOptions(int argc, char **argv, bool binary, const std::string &version);

} // namespace ingot::main_

#endif // INGOT_RUNTIME_MAIN_OPTIONS_H
