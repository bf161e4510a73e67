//===- main.cpp - ingot-translate: a model file as llm text ---------------===//
//
// ingot-translate MODEL [--ctx N] [--config NAME] [--debug-info]: prints the
// module that compilation starts from. The tokenizer is not needed and is left
// alone, unless --tokenizer asks for the checks that loading makes.
//
//===----------------------------------------------------------------------===//
#include "compiler/arch/Build.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

int main(int argc, char **argv) {
  llvm::cl::opt<std::string> path(llvm::cl::Positional, llvm::cl::desc("MODEL"), llvm::cl::Required);
  llvm::cl::opt<int64_t> context("ctx", llvm::cl::desc("positions to serve (0: the model's, at most 4096)"));
  llvm::cl::opt<std::string> config("config", llvm::cl::desc("configuration file of a directory"),
                                    llvm::cl::init("config.json"));
  llvm::cl::opt<bool> tokenizer("tokenizer", llvm::cl::desc("convert the tokenizer too"));
  llvm::cl::opt<bool> locations("debug-info", llvm::cl::desc("print locations"));
  llvm::cl::ParseCommandLineOptions(argc, argv, "Prints a model file as llm text\n");

  auto fail = [&](llvm::StringRef text) {
    llvm::errs() << "ingot-translate: error: " << text << "\n";
    return 1;
  };
  ingot::import_::OpenOptions open;
  open.configFile = config;
  open.tokenizer = tokenizer;
  auto model = ingot::import_::openModel(path, open);
  if (!model)
    return fail(llvm::toString(model.takeError()));
  ingot::arch::BuildOptions options;
  options.context = context;
  mlir::MLIRContext mlirContext;
  std::string error;
  auto module = ingot::arch::buildModel(&mlirContext, **model, options, error);
  if (!module)
    return fail(error);
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo(locations);
  module->print(llvm::outs(), flags);
  return 0;
}
