//===- Embed.cpp - rows of an embedding table -----------------------------------------------------===//
//
// One lane of a panel is gathered: 4 columns are one 32-bit word at stride 64 bytes. Values are computed in
// the order of the reference dequantizer, each operation rounded.
//
//===----------------------------------------------------------------------------------------------------===//
#include "codegen/cpu/Embed.h"
#include "codegen/cpu/Linear.h"
#include "codegen/cpu/Panels.h"
#include "runtime/abi/ingot_abi.h"

#include <cstddef>

using namespace ingot;
using namespace ingot::cpu;

std::string ingot::cpu::refuseEmbed(const EmbedSpec &s) {
  if (s.n < 1 || s.k < 1 || !qfmt::panelSize(s.scheme, s.k))
    return std::string(qfmt::schemeName(s.scheme)) + " needs K to be a multiple of " +
           std::to_string(qfmt::geometry(s.scheme).blockElems);
  return "";
}

namespace {

struct EmbedEmitter {
  KernelBuilder &k;
  const EmbedSpec &spec;
  const qfmt::SchemeGeometry &geometry;
  qfmt::PanelSize size;

  /// Codes of 32 columns of lane `lane` as vector<32xi8>.
  Value codes(Value payload, Value lane) {
    int bits = codeBits(spec.scheme);
    int64_t words = bits == 8 ? 8 : 4;
    auto type = k.vec(words, k.i32());
    Value base = k.gep(payload, k.mul(lane, 4));
    Value w = k.splatInt(type, 0);
    for (int64_t j = 0; j < words; ++j)
      w = k.insert(k.loadAt(k.i32(), base, bits == 8 ? 64 * j : qfmt::nibbleLine(bits, 2 * j)), w, j);
    if (bits == 8)
      return k.bitcast(w, k.vec(32, k.i8()));
    Value nibble = k.splatInt(type, 0x0F0F0F0F);
    Value all = k.shuffle(k.and_(w, nibble), k.and_(k.shrU(w, 4), nibble), {0, 4, 1, 5, 2, 6, 3, 7});
    auto full = k.vec(8, k.i32());
    if (bits == 4)
      return k.bitcast(all, k.vec(32, k.i8()));
    Value high = k.splatInt(full, 0);
    for (int64_t v = 0; v < 8; ++v) {
      Value word;
      if (bits == 5) { // 4 bits of 64, from bit 4 * lane: spread to bit 4 of each byte
        Value b = k.extU(k.loadAt(k.i8(), k.gep(payload, k.shrU(lane, 1)), 256 + 8 * v), k.i32());
        Value odd = k.cmp(KernelBuilder::Pred::ne, k.and_(lane, k.c64(1)), k.c64(0));
        b = k.and_(k.select(odd, k.shrU(b, 4), b), k.c32(15));
        // x = b3 b2 b1 b0: multiplying by 1 + 2^7 + 2^14 + 2^21 puts bit t at bit 8 t.
        word = k.shl(k.and_(k.mul(b, 0x00204081), k.c32(0x01010101)), 4);
      } else {
        Value plane = k.loadAt(k.i32(), base, qfmt::upperTwoLine(v));
        word = k.shl(k.and_(k.shrU(plane, 2 * (v % 4)), k.c32(0x03030303)), 4);
      }
      high = k.insert(word, high, v);
    }
    return k.bitcast(k.or_(all, high), k.vec(32, k.i8()));
  }

  Value half(Value side, Value lane, int64_t offset) {
    return k.toF32(k.loadAt(k.f16(), k.gep(side, k.mul(lane, 2)), offset));
  }

  void storeGroup(Value y, Value group, Value codesOf, llvm::function_ref<Value(Value, int64_t)> value) {
    for (int64_t h = 0; h < 2; ++h) {
      Value c = k.extU(k.slice(codesOf, 16 * h, 16), k.vec(16, k.i32()));
      if (int64_t offset = codeOffset(spec.scheme))
        c = k.add(c, -offset);
      Value v = value(k.sToF(c, k.f32v()), h);
      if (spec.scale != 1)
        v = k.mul(v, k.splat(k.f32v(), spec.scale));
      k.storeAt(v, y, k.add(k.mul(group, 128), 64 * h), 64);
    }
  }

  void row(Value panel, Value lane, Value y) {
    auto wide = [&](Value s) { return k.broadcast(s, 16); };
    if (geometry.isFloat)
      return floatRow(panel, lane, y);
    if (geometry.kStep == 32) {
      k.forLoop(0, spec.k / 32, 1, [&](Value b) {
        PanelStep at = panelStep(k, size, panel, b);
        Value s = at.side;
        Value d = wide(half(s, lane, 0));
        storeGroup(y, b, codes(at.payload, lane), [&](Value c, int64_t) {
          Value v = k.mul(c, d);
          return geometry.hasMin ? k.add(v, wide(half(s, lane, 32))) : v;
        });
      });
      return;
    }
    k.forLoop(0, spec.k / 32, 1, [&](Value g) {
      PanelStep at = panelStep(k, size, panel, k.shrU(g, 3));
      Value s = at.side, j = k.and_(g, k.c64(7)), d = half(s, lane, 0);
      auto byte = [&](int64_t offset, Value index) {
        return k.loadAt(k.i8(), k.gep(s, k.add(k.mul(index, 16), lane)), offset);
      };
      storeGroup(y, g, codes(k.gep(at.payload, k.mul(j, size.payloadBytes / 8)), lane),
                 [&](Value c, int64_t h) {
                   if (spec.scheme == qfmt::Scheme::Q6_K) {
                     Value sc = k.extS(byte(32, k.add(k.mul(j, 2), h)), k.i32());
                     return k.mul(wide(k.mul(d, k.sToF(sc, k.f32()))), c);
                   }
                   Value sc = k.sToF(k.extU(byte(64, j), k.i32()), k.f32());
                   Value mn = k.sToF(k.extU(byte(192, j), k.i32()), k.f32());
                   return k.sub(k.mul(wide(k.mul(d, sc)), c), wide(k.mul(half(s, lane, 32), mn)));
                 });
    });
  }

  void floatRow(Value panel, Value lane, Value y) {
    Type element = spec.scheme == qfmt::Scheme::F32   ? k.f32()
                   : spec.scheme == qfmt::Scheme::F16 ? k.f16()
                                                      : k.bf16();
    int64_t bytes = element.getIntOrFloatBitWidth() / 8;
    Value base = k.gep(panel, k.mul(lane, bytes));
    k.forLoop(0, spec.k, 1, [&](Value i) {
      Value v = k.toF32(k.loadAt(element, base, k.mul(i, 16 * bytes)));
      if (spec.scale != 1)
        v = k.mul(v, k.cf(spec.scale));
      k.storeAt(v, y, k.mul(i, 4));
    });
  }
};

} // namespace

void ingot::cpu::emitEmbed(KernelBuilder &k, const EmbedSpec &spec) {
  assert(refuseEmbed(spec).empty() && "refuseEmbed first");
  EmbedEmitter e{k, spec, qfmt::geometry(spec.scheme), *qfmt::panelSize(spec.scheme, spec.k)};
  Value table = k.weight(0), out = k.slot(0), tokens = k.stepPointer(offsetof(ingot_step_v1, tokens));
  forRows(k, RowDomain::Rows, [&](Value row) {
    Value id = k.extU(k.loadAt(k.i32(), tokens, k.mul(row, 4)), k.i64());
    Value panel = k.gep(table, k.mul(k.shrU(id, 4), e.size.bytes));
    e.row(panel, k.and_(id, k.c64(15)), k.gep(out, k.mul(row, roundUp(spec.k, 16) * 4)));
  });
}
