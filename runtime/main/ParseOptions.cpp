//===- ParseOptions.cpp - command line -> Options -------------------------------------------------------===//

#include "runtime/main/Options.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <numeric>

namespace ingot::main_ {
namespace {

/// Number of edits between two words; two neighbours that changed places are one edit.
size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<std::vector<size_t>> rows(a.size() + 1, std::vector<size_t>(b.size() + 1));
  std::iota(rows[0].begin(), rows[0].end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    rows[i][0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      rows[i][j] =
          std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.size()][b.size()];
}

/// The nearest of `candidates`, or nothing where none is near.
std::string nearest(const std::string &word, const std::vector<std::string> &candidates) {
  std::string best;
  size_t bestDistance = word.size() / 3 + 2;
  for (const std::string &candidate : candidates) {
    size_t distance = editDistance(word, candidate);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = candidate;
    }
  }
  return best;
}

std::vector<std::string> optionNames(const CLI::App *app) {
  std::vector<std::string> names;
  for (const CLI::Option *option : app->get_options())
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
  return names;
}

/// CLI11 clamps or wraps a whole number that its type cannot hold; this finds it. Empty where all is well.
std::string numberOutOfRange(const CLI::App *app) {
  for (const CLI::Option *option : app->get_options()) {
    const std::string type = option->get_type_name();
    if (type.find("INT") == std::string::npos)
      continue;
    for (const std::string &value : option->results()) {
      errno = 0;
      if (type.find("UINT") == std::string::npos)
        std::strtoll(value.c_str(), nullptr, 10);
      else
        std::strtoull(value.c_str(), nullptr, 10);
      if (errno == ERANGE || (type.find("UINT") != std::string::npos && value[0] == '-'))
        return option->get_name() + ": " + value + " is out of range";
    }
  }
  return "";
}

class Parser {
public:
  Parser(bool binary, const std::string &version) : binary(binary), app("", binary ? "" : "ingot") {
    app.description(binary ? "A compiled language model. Give it a question, or one of the commands below."
                           : "Compiles language models into native programs, and runs them.");
    app.set_version_flag("--version", version);
    app.require_subcommand(0, 1);
    app.footer("Exit status: 0 success, 1 error, 2 wrong usage, 3 a verified number is out of bounds, 130 "
               "interrupted.");
    build();
  }

  ParseResult parse(int argc, char **argv) {
    ParseResult result;
    app.name(argc > 0 ? argv[0] : "ingot");
    std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
    // Words that are no command are the question of a binary: `./model "Why is the sky blue?"`.
    if (binary && !arguments.empty() && !isCommand(arguments[0]) && !isTopFlag(arguments[0]))
      arguments.insert(arguments.begin(), "ask");
    // CLI11 reads them from the back, and takes away what it has read.
    std::vector<std::string> rest(arguments.rbegin(), arguments.rend());
    try {
      app.parse(rest);
      if (app.get_subcommands().empty()) {
        std::fputs(app.help().c_str(), stderr);
        result.status = ExitUsage;
        return result;
      }
    } catch (const CLI::CallForHelp &) {
      std::fputs(app.help("", CLI::AppFormatMode::Normal).c_str(), stdout);
      return result;
    } catch (const CLI::CallForAllHelp &) {
      std::fputs(app.help("", CLI::AppFormatMode::All).c_str(), stdout);
      return result;
    } catch (const CLI::CallForVersion &) {
      std::fprintf(stdout, "%s\n", app.version().c_str());
      return result;
    } catch (const CLI::ParseError &error) {
      report(error, arguments);
      result.status = ExitUsage;
      return result;
    }
    const CLI::App *used = app.get_subcommands().front();
    if (std::string fault = numberOutOfRange(used); !fault.empty()) {
      std::fprintf(stderr, "error: %s\n", fault.c_str());
      result.status = ExitUsage;
      return result;
    }
    // `eval --ctx` is the size of a chunk.
    for (const char *name : {"--ctx", "--kv", "--numerics", "--config", "--target", "--tune", "--timings",
                             "--kernel-seconds", "--verbose"})
      if (const CLI::Option *option = used->get_option_no_throw(name);
          option && option->count() && !(options.command == Command::Eval && name == std::string("--ctx")))
        options.load.compileFlags.push_back(name);
    result.run = true;
    result.options = options;
    return result;
  }

private:
  bool isCommand(const std::string &word) const {
    for (const CLI::App *sub : app.get_subcommands([](const CLI::App *) { return true; }))
      if (sub->check_name(word))
        return true;
    return false;
  }
  static bool isTopFlag(const std::string &word) {
    return word == "--help" || word == "-h" || word == "--version";
  }

  void report(const CLI::ParseError &error, const std::vector<std::string> &arguments) {
    const CLI::App *used = &app;
    for (const CLI::App *sub : app.get_subcommands())
      used = sub;
    std::string message = error.what();
    // CLI11 lists everything it could not place; the first of it with a near name is the likely slip.
    std::string hint;
    for (const std::string &argument : arguments) {
      std::string word = argument.substr(0, argument.find('='));
      if (word.rfind("--", 0) == 0) {
        std::vector<std::string> names = optionNames(used);
        if (std::find(names.begin(), names.end(), word) == names.end()) {
          message = "unknown option " + word;
          hint = nearest(word, names);
          break;
        }
      }
    }
    if (used == &app && hint.empty() && !arguments.empty() && arguments[0].rfind("-", 0) != 0 &&
        !isCommand(arguments[0])) {
      message = "unknown command '" + arguments[0] + "'";
      std::vector<std::string> names;
      for (const CLI::App *sub : app.get_subcommands([](const CLI::App *) { return true; }))
        names.push_back(sub->get_name());
      hint = nearest(arguments[0], names);
    }
    std::fprintf(stderr, "error: %s\n", message.c_str());
    if (!hint.empty())
      std::fprintf(stderr, "Did you mean %s?\n", hint.c_str());
    std::fprintf(stderr, "'%s%s%s --help' lists the options.\n", app.get_name().c_str(),
                 used == &app ? "" : " ", used == &app ? "" : used->get_name().c_str());
  }

  CLI::App *command(Command which, const char *name, const char *description) {
    CLI::App *sub = app.add_subcommand(name, description);
    sub->callback([this, which] { options.command = which; });
    return sub;
  }

  void model(CLI::App *sub) {
    if (!binary)
      sub->add_option(
             "MODEL", options.load.model,
             "a .gguf file (of a split one the first), a Hugging Face directory, a .ipk pack or a binary")
          ->required();
  }

  void load(CLI::App *sub, bool compiling = false, bool context = true) {
    LoadOptions &l = options.load;
    if (!compiling) {
      sub->add_option("-t,--threads", l.threads, "worker threads (default: usable cores)")
          ->check(CLI::Range(1, 256));
      sub->add_option("--isa", l.isa, "use this CPU variant: avx2, avx512, vnni, avx512bf16, amx, amxbf16");
      sub->add_option("--kernels", l.kernels, "native, or ref: plain f32 code, the oracle")
          ->check(CLI::IsMember({"native", "ref"}));
      sub->add_option("--kv-pages", l.kvPages, "KV pool in pages of 16 tokens")
          ->check(CLI::Range(1, 1 << 26));
      sub->add_flag("--mmap", l.map, "map the weights of a file instead of reading them into huge pages");
      sub->add_option("--chat-template", l.chatTemplateFile, "file with a chat template to use");
    }
    if (!binary) {
      if (context)
        sub->add_option("--ctx", l.context, "positions per sequence (default: the model's, at most 4096)");
      kvAndNumerics(sub);
      sub->add_option("--config", l.configFile, "name of the configuration in a Hugging Face directory");
      schedules(sub);
    }
    sub->add_option("--max-seqs", l.maxSeqs, "sequences that run together")->check(CLI::Range(1, 4096));
    sub->add_option("--chunk", l.chunk, "most prompt tokens in one step")->check(CLI::Range(1, 4096));
  }

  void kvAndNumerics(CLI::App *sub) {
    sub->add_option("--kv", options.load.kvDtype, "KV cache type")
        ->check(CLI::IsMember({"f16", "bf16", "f32", "int8"}));
    sub->add_option("--numerics", options.load.numerics,
                    "exact: a row's bits depend on its own tokens alone; fast: bf16 weights may meet "
                    "activations rounded to bf16")
        ->check(CLI::IsMember({"exact", "fast"}));
  }

  /// What a compile chooses by and what it tells of itself: wherever one may be.
  void schedules(CLI::App *sub) {
    sub->add_option(
        "--tune", options.load.tuneFile,
        "use the schedules that 'ingot tune' wrote to this file; without it a cost model chooses");
    timings(sub);
  }

  void timings(CLI::App *sub) {
    sub->add_option("--timings", options.load.timingsFile,
                    "write what phases, passes and kernels took to compile to this file, as JSON");
    sub->add_option("--kernel-seconds", options.load.kernelSeconds,
                    "warn of a kernel that takes longer to compile (default: 20)");
    sub->add_flag("--verbose", options.load.verbose, "name the slowest kernels of the compile");
  }

  void sampling(CLI::App *sub) {
    SamplingOptions &s = options.sampling;
    sub->add_option("--temp", s.temperature, "temperature; 0: greedy (default: the model's, else 0)")
        ->check(CLI::Range(0.0, 100.0));
    sub->add_option("--top-k", s.topK, "keep the K likeliest tokens; 0: all");
    sub->add_option("--top-p", s.topP, "keep the likeliest tokens up to this probability")
        ->check(CLI::Range(0.0, 1.0));
    sub->add_option("--min-p", s.minP, "drop tokens less likely than this share of the best")
        ->check(CLI::Range(0.0, 1.0));
    sub->add_option("--repeat-penalty", s.repetitionPenalty, "divides the logits of tokens seen before");
    sub->add_option("--presence-penalty", s.presencePenalty, "subtracted from logits of tokens seen before");
    sub->add_option("--frequency-penalty", s.frequencyPenalty, "subtracted per occurrence");
    sub->add_option("--repeat-last-n", s.penaltyWindow, "tokens that penalties look back; -1: all");
    sub->add_option("--logit-bias", s.logitBias, "ID=VALUE added to a token's logit")
        ->allow_extra_args(false);
    sub->add_option("-s,--seed", s.seed, "seed of the random numbers (default: random)");
    sub->add_option("-n,--max-tokens", s.maxTokens, "most tokens of the answer; -1: up to the context");
    sub->add_option("--stop", s.stop, "ends the answer where this text would appear")
        ->allow_extra_args(false);
    sub->add_option("--stop-id", s.stopIds, "ends the answer at this token id")->allow_extra_args(false);
    sub->add_flag("--ignore-eos", s.ignoreEos,
                  "never draw an end token: only --max-tokens and stop strings end an answer");
    sub->add_option("--logprobs", s.logprobs,
                    "report log-probabilities of this many alternatives (with --json)")
        ->check(CLI::Range(0, 128));
  }

  void output(CLI::App *sub) {
    sub->add_flag("--json", options.json, "machine-readable output");
    sub->add_flag("-q,--quiet", options.quiet, "no progress and no statistics");
  }

  void build() {
    if (!binary) {
      buildCompile();
      buildTune();
    }
    if (binary) {
      CLI::App *ask =
          command(Command::Ask, "ask", "answer TEXT with the model's chat template (the default command)");
      ask->add_option("TEXT", options.input.prompt, "the question")->required();
      ask->add_option("--system", options.system, "system prompt");
      load(ask), sampling(ask), output(ask);
    }
    CLI::App *run = command(Command::Run, "run", "complete a text");
    model(run);
    run->add_option("-p,--prompt", options.input.prompt, "the text");
    run->add_option("-f,--file", options.input.file, "file with the text; -: standard input");
    run->add_option("INPUT", options.input.dash, "-: read the text from standard input")
        ->check(CLI::IsMember({"-"}));
    load(run), sampling(run), output(run);
    run->add_flag("--special", options.special, "read special tokens in the text");
    run->add_flag("--no-bos", options.noBos, "do not put a BOS token in front");

    CLI::App *chat = command(Command::Chat, "chat", "talk with the model");
    model(chat);
    chat->add_option("--system", options.system, "system prompt");
    load(chat), sampling(chat), output(chat);

    CLI::App *batch = command(Command::Batch, "batch", "answer many requests (OpenAI batch lines) together");
    model(batch);
    batch->add_option("REQUESTS", options.batch.requests, "a .jsonl file")->required();
    batch->add_option("-o,--output", options.batch.output, "file for the answers; -: standard output")
        ->required();
    load(batch), output(batch);

    CLI::App *bench = command(Command::Bench, "bench", "measure prompt, generation and batched rates");
    model(bench);
    bench->add_option("-p,--prompt", options.bench.prompt, "prompt lengths")->delimiter(',');
    bench->add_option("-n,--generate", options.bench.generate, "tokens to generate")->delimiter(',');
    bench->add_option("-b,--batch", options.bench.batch, "sequences at a time")->delimiter(',');
    bench->add_option("-d,--depth", options.bench.depth, "tokens in the cache before")->delimiter(',');
    bench
        ->add_option("--mix", options.bench.mix,
                     "prompt rows in one step beside a row of each sequence of -b")
        ->delimiter(',');
    bench
        ->add_option(
            "--draw", options.bench.draw,
            "draw generated tokens as requests do: greedy, logits (greedy, from stored logits), sampled "
            "(temperature 0.8, top-k 40), random (temperature 0.8 alone); none: leave the logits")
        ->check(CLI::IsMember({"none", "greedy", "logits", "sampled", "random"}));
    bench->add_option("-r,--repetitions", options.bench.repetitions, "repetitions")
        ->check(CLI::Range(1, 10000));
    bench->add_option("-t,--threads", options.bench.threads, "worker threads")->delimiter(',');
    bench->add_option("--isa", options.load.isa, "use this CPU variant");
    bench->add_option("--chunk", options.load.chunk, "most prompt tokens in one step")
        ->check(CLI::Range(1, 4096));
    bench->add_option("--max-seqs", options.load.maxSeqs, "sequences that run together")
        ->check(CLI::Range(1, 4096));
    bench->add_option("--kernels", options.load.kernels, "native or ref")
        ->check(CLI::IsMember({"native", "ref"}));
    if (!binary) {
      bench->add_option("--ctx", options.load.context, "positions per sequence");
      kvAndNumerics(bench);
      schedules(bench);
    }
    output(bench);

    CLI::App *verify = command(Command::Verify, "verify", "compare numbers with a reference, or dump them");
    model(verify);
    verify->add_option("--reference", options.verify.reference,
                       "folder with golden.json or model.json, or PREFIX of PREFIX.golden.json");
    verify->add_option("--ids", options.verify.ids, "file with a JSON array of token ids to compute");
    verify->add_option("--dump", options.verify.dump, "safetensors file for the logits of --ids");
    verify
        ->add_option("--greedy", options.verify.greedy,
                     "print as JSON the N likeliest tokens that continue --ids; end tokens end nothing")
        ->check(CLI::Range(1, 1 << 20));
    verify->add_option("--positions", options.verify.positions,
                       "positions to dump, e.g. 0,5,7 (default: all)");
    verify->add_flag("--weights", options.load.verifyWeights, "check the hash of every packed tensor");
    verify->add_flag("--hidden", options.verify.hidden, "dump the hidden states too");
    load(verify), output(verify);

    CLI::App *eval = command(Command::Eval, "eval", "perplexity of a text, or multiple choice");
    model(eval);
    eval->add_option("--perplexity", options.eval.perplexity, "text file");
    eval->add_option("--choices", options.eval.choices, "JSON file with items");
    eval->add_option("--ctx", options.eval.context, "tokens of one chunk")->check(CLI::Range(3, 1 << 20));
    eval->add_option("--chunks", options.eval.chunks, "number of chunks; 0: all of the text");
    load(eval, /*compiling=*/false, /*context=*/false), output(eval);

    CLI::App *tokenize = command(Command::Tokenize, "tokenize", "text -> ids as JSON");
    model(tokenize);
    tokenize->add_option("-p,--prompt", options.input.prompt, "the text");
    tokenize->add_option("-f,--file", options.input.file, "file with the text; -: standard input");
    tokenize->add_flag("--special", options.special, "read special tokens in the text");
    tokenize->add_flag("--no-bos", options.noBos, "add no BOS or EOS token");

    CLI::App *detokenize = command(Command::Detokenize, "detokenize", "ids -> text");
    model(detokenize);
    detokenize->add_option("IDS", options.ids, "token ids")->delimiter(',');
    detokenize->add_option("-f,--file", options.input.file,
                           "file with a JSON array of ids; -: standard input");
    detokenize->add_flag("--special", options.special, "print special tokens too");

    CLI::App *render = command(Command::Template, "template", "render a chat with the model's template");
    model(render);
    render->add_option("MESSAGES", options.chat.messages, "JSON file with messages; -: standard input")
        ->required();
    render->add_option("--tools", options.chat.tools, "JSON file with tools");
    render->add_option("--kwargs", options.chat.kwargs, "JSON object of further variables");
    render->add_flag("--no-generation-prompt", options.chat.noGenerationPrompt, "do not open an answer");
    render->add_option("--chat-template", options.load.chatTemplateFile, "file with a chat template to use");

    CLI::App *inspect = command(Command::Inspect, binary ? "info" : "inspect",
                                "what is in the file: architecture, tensors, kernels, memory plan");
    if (binary)
      inspect->alias("inspect");
    model(inspect);
    inspectLoad(inspect);
    CLI::App *explain =
        command(Command::Explain, "explain",
                "each kernel, why it was chosen, what was refused; barriers and the critical path; with "
                "--measure where the time of real steps goes");
    model(explain);
    inspectLoad(explain);
    measure(explain);
  }

  /// Options of explain --measure: those of bench.
  void measure(CLI::App *explain) {
    BenchCommand &b = options.bench;
    CLI::Option *on = explain->add_flag(
        "--measure", options.measure,
        "run generation and prompt steps and print time, rates and the near limit of each kernel");
    for (CLI::Option *option :
         {explain->add_option("-p,--prompt", b.prompt, "prompt lengths, each one step")->delimiter(','),
          explain->add_option("-n,--generate", b.generate, "tokens to generate")->delimiter(','),
          explain->add_option("-b,--batch", b.batch, "sequences at a time")->delimiter(','),
          explain->add_option("-d,--depth", b.depth, "tokens in the cache before")->delimiter(','),
          explain->add_option("-r,--repetitions", b.repetitions, "prompt steps")->check(CLI::Range(1, 10000)),
          explain->add_option("-t,--threads", b.threads, "worker threads")->delimiter(','),
          explain->add_option("--isa", options.load.isa, "use this CPU variant")})
      option->needs(on);
  }

  void inspectLoad(CLI::App *sub) {
    if (!binary) {
      sub->add_option("--target", options.compile.target, "CPU variants: native, all, or names");
      sub->add_option("--ctx", options.load.context, "positions per sequence");
      kvAndNumerics(sub);
      sub->add_option("--config", options.load.configFile,
                      "name of the configuration in a Hugging Face directory");
      schedules(sub);
    }
    output(sub);
  }

  void buildCompile() {
    CompileCommand &c = options.compile;
    CLI::App *compile =
        command(Command::Compile, "compile", "compile a model into a program, an object or a pack");
    model(compile);
    compile->add_option("-o,--output", c.output, "file to write (-: standard output, for --stop-after)")
        ->required();
    compile->add_option("--emit", c.emit, "exe, obj or pack")->check(CLI::IsMember({"exe", "obj", "pack"}));
    compile->add_option("--target", c.target,
                        "CPU variants: native, all, or a list of avx2,avx512,vnni,avx512bf16,amx,amxbf16");
    compile->add_option("--stop-after", c.stopAfter,
                        "write the IR after this phase: import, model, quant, shape, "
                        "kernel or program");
    compile->add_option("--start-from", c.startFrom, "resume from --ir with this phase");
    compile->add_option("--ir", c.ir, "text written by --stop-after");
    compile->add_option("--print-ir-after", c.printIrAfter, "print the IR after these passes; all")
        ->delimiter(',');
    load(compile, /*compiling=*/true);
    output(compile);
  }

  void buildTune() {
    LoadOptions &l = options.load;
    CLI::App *tune =
        command(Command::Tune, "tune",
                "time the schedules of each kernel on this machine, for --tune of other commands");
    tune->add_option("MODEL", l.model, "a .gguf file (of a split one the first) or a Hugging Face directory")
        ->required();
    tune->add_option("-o,--output", options.tune.output,
                     "profile to write; what it has already is not timed again")
        ->required();
    tune->add_option("--isa", l.isa, "tune this CPU variant (default: the best that runs here)");
    tune->add_option("-t,--threads", l.threads, "worker threads (default: usable cores)")
        ->check(CLI::Range(1, 256));
    tune->add_option("--seconds", options.tune.seconds,
                     "time for measuring, besides compiling (default: 100)")
        ->check(CLI::Range(0.1, 1e6));
    tune->add_flag("--all", options.tune.all, "print every schedule that was timed, not only what is better");
    kvAndNumerics(tune);
    tune->add_option("--config", l.configFile, "name of the configuration in a Hugging Face directory");
    timings(tune);
    tune->add_flag("-q,--quiet", options.quiet, "no progress");
  }

  bool binary;
  CLI::App app;
  Options options;
};

} // namespace

ParseResult parseOptions(int argc, char **argv, bool binary, const std::string &version) {
  return Parser(binary, version).parse(argc, argv);
}

} // namespace ingot::main_
