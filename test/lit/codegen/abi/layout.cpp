//===- layout.cpp - prints the struct layout that generated tables use -----------------------------===//
#include "codegen/cpu/ModuleTables.h"

int main() {
  ingot::cpu::printAbiLayout(llvm::outs());
  return 0;
}
