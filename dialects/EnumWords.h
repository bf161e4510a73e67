//===- EnumWords.h - enum attributes as bare words in the syntax of ops ---------------------------===//
#ifndef INGOT_DIALECTS_ENUMWORDS_H
#define INGOT_DIALECTS_ENUMWORDS_H

#include "mlir/IR/OpImplementation.h"

namespace ingot {

/// One word that `symbolize` knows, e.g. `silu`; an error at the word otherwise.
template <typename AttrT, typename Symbolize>
mlir::ParseResult parseWord(mlir::OpAsmParser &parser, AttrT &attr, Symbolize symbolize) {
  llvm::StringRef word;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return mlir::failure();
  auto value = symbolize(word);
  if (!value)
    return parser.emitError(loc, "unknown word '") << word << "'";
  attr = AttrT::get(parser.getContext(), *value);
  return mlir::success();
}

} // namespace ingot

#endif
