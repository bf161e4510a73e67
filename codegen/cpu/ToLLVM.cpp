//===- ToLLVM.cpp - kernels from scf, arith, vector and math to the LLVM dialect ------------------===//
#include "codegen/cpu/ToLLVM.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;

namespace {
struct KernelsToLLVM : PassWrapper<KernelsToLLVM, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(KernelsToLLVM)
  StringRef getArgument() const override { return "cpu-kernels-to-llvm"; }
  StringRef getDescription() const override { return "One conversion of CPU kernels to the LLVM dialect"; }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect>();
  }
  void runOnOperation() override {
    MLIRContext *context = &getContext();
    LowerToLLVMOptions options(context);
    LLVMTypeConverter types(context, options);
    RewritePatternSet patterns(context);
    LLVMConversionTarget target(*context);
    target.addLegalOp<ModuleOp>();
    arith::populateArithToLLVMConversionPatterns(types, patterns);
    populateVectorToLLVMConversionPatterns(types, patterns, /*reassociateFPReductions=*/false);
    populateMathToLLVMConversionPatterns(types, patterns);
    cf::populateControlFlowToLLVMConversionPatterns(types, patterns);
    ub::populateUBToLLVMConversionPatterns(types, patterns);
    if (failed(applyFullConversion(getOperation(), target, std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace

std::unique_ptr<Pass> ingot::cpu::createKernelsToLLVMPass() { return std::make_unique<KernelsToLLVM>(); }

LogicalResult ingot::cpu::lowerToLLVM(ModuleOp module) {
  PassManager pm(module.getContext());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createKernelsToLLVMPass());
  return pm.run(module);
}
