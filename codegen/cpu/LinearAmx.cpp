//===- LinearAmx.cpp - quantized weights on AMX tiles
//-----------------------------------------------------===//
#include "codegen/cpu/LinearQuant.h"

void ingot::cpu::emitLinearAmx(KernelBuilder &k, const LinearSpec &spec) { emitLinearQuant(k, spec); }
