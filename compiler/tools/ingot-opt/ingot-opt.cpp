//===- ingot-opt.cpp - runs single passes on IR text, for tests and people ------------------------------===//
#include "codegen/target/Registry.h"
#include "compiler/transforms/InitAllPasses.h"
#include "dialects/InitAllDialects.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  ingot::registerAllIngotDialects(registry);
  std::unique_ptr<ingot::KernelRegistry> kernels = ingot::target::createKernelRegistry();
  ingot::transforms::registerAllIngotPasses(*kernels);
  mlir::registerCSEPass();
  mlir::registerCanonicalizerPass();
  mlir::registerStripDebugInfoPass();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Ingot pass driver\n", registry));
}
