//===- ParamPacker.cpp - one parameter from its file form to its packed form ----------------------------===//

#include "codegen/package/ParamPacker.h"

#include "codegen/package/FiniteCheck.h"
#include "dialects/qfmt/schemes/Schemes.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstring>

using namespace llvm;

namespace ingot::package {
namespace {

/// Rows of a parameter, in its own order, read from the parts in windows of about a megabyte.
class RowReader {
public:
  RowReader(const ParamPlan &param, TensorSource &source)
      : param(param), source(source), rowBytes(*qfmt::fileBytes(param.sourceScheme, 1, param.cols)),
        windows(param.parts.size()) {}

  /// The file bytes of row `row`, valid until the next call.
  Expected<const uint8_t *> row(int64_t row) {
    auto [part, partRow] = locate(row);
    Window &window = windows[part];
    if (partRow < window.first || partRow >= window.first + window.count)
      if (Error error = fill(window, part, partRow))
        return std::move(error);
    return window.bytes.data() + (partRow - window.first) * rowBytes;
  }

private:
  struct Window {
    std::vector<uint8_t> bytes;
    int64_t first = 0, count = 0;
  };

  std::pair<size_t, int64_t> locate(int64_t row) const {
    if (param.recipe == Recipe::Interleave16) {
      int64_t block = row / 16, count = param.parts.size();
      return {block % count, block / count * 16 + row % 16};
    }
    size_t part = 0;
    while (row >= param.parts[part].rows)
      row -= param.parts[part++].rows;
    return {part, row};
  }

  Error fill(Window &window, size_t index, int64_t first) {
    const ParamPart &part = param.parts[index];
    window.first = first;
    window.count = std::min<int64_t>(std::max<int64_t>(16, (1 << 20) / rowBytes), part.rows - first);
    window.bytes.resize(window.count * rowBytes);
    if (Error error = source.read(part.file, part.offset + window.first * rowBytes, window.bytes))
      return error;
    for (int64_t r = 0; r < window.count; ++r)
      if (!isFinite(param.sourceScheme, window.bytes.data() + r * rowBytes, param.cols))
        return createStringError(
            inconvertibleErrorCode(), "%s: tensor '%s': row %lld holds a NaN or an infinite value",
            source.name(part.file).c_str(), part.tensor.c_str(), (long long)(window.first + r));
    return Error::success();
  }

  const ParamPlan &param;
  TensorSource &source;
  int64_t rowBytes;
  std::vector<Window> windows;
};

/// Rows as the file has them, or as f32.
Error packRows(const ParamPlan &param, RowReader &reader, function_ref<Error(ArrayRef<uint8_t>)> emit) {
  bool convert = param.scheme != param.sourceScheme || param.offsetAdd != 0;
  assert((!convert || param.scheme == qfmt::Scheme::F32) && "row layout converts to f32 alone");
  size_t rowBytes = *qfmt::fileBytes(param.scheme, 1, param.cols);
  std::vector<float> values(convert ? param.cols : 0);
  std::vector<uint8_t> out;
  for (int64_t r = 0; r < param.rows; ++r) {
    Expected<const uint8_t *> row = reader.row(r);
    if (!row)
      return row.takeError();
    const uint8_t *bytes = *row;
    if (convert) {
      qfmt::schemeOps(param.sourceScheme).dequantRow(bytes, param.cols, values.data());
      if (param.offsetAdd != 0)
        for (float &value : values)
          value += param.offsetAdd;
      bytes = reinterpret_cast<const uint8_t *>(values.data());
    }
    out.insert(out.end(), bytes, bytes + rowBytes);
    if (out.size() >= (1 << 20)) {
      if (Error error = emit(out))
        return error;
      out.clear();
    }
  }
  // A vector is padded to whole groups of lanes.
  out.resize(out.size() + (param.bytes - param.rows * rowBytes));
  return out.empty() ? Error::success() : emit(out);
}

Error packPanels(const ParamPlan &param, RowReader &reader, function_ref<Error(ArrayRef<uint8_t>)> emit) {
  assert(param.scheme == param.sourceScheme && "panels keep the file's scheme");
  qfmt::PanelSize size = *qfmt::panelSize(param.scheme, param.cols);
  int64_t panels = divideCeil(param.rows, 16);
  // Small panels are emitted together: one write and one hash call for many.
  int64_t batch = std::max<int64_t>(1, (1 << 20) / size.bytes);
  int64_t rowBytes = *qfmt::fileBytes(param.sourceScheme, 1, param.cols);
  std::vector<uint8_t> out, gathered(16 * rowBytes);
  for (int64_t panel = 0; panel < panels; panel += batch) {
    int64_t count = std::min(batch, panels - panel);
    out.assign(count * size.bytes, 0);
    for (int64_t i = 0; i < count; ++i) {
      const uint8_t *rows[16] = {};
      for (int64_t n = 0; n < 16 && (panel + i) * 16 + n < param.rows; ++n) {
        Expected<const uint8_t *> row = reader.row((panel + i) * 16 + n);
        if (!row)
          return row.takeError();
        uint8_t *copy = gathered.data() + n * rowBytes;
        std::memcpy(copy, *row, rowBytes);
        rows[n] = copy;
      }
      qfmt::schemeOps(param.scheme).packPanel(rows, param.cols, out.data() + i * size.bytes);
    }
    if (Error error = emit(out))
      return error;
  }
  return Error::success();
}

} // namespace

Error packParam(const ParamPlan &param, TensorSource &source, function_ref<Error(ArrayRef<uint8_t>)> emit) {
  if (param.layout == qfmt::Layout::Row && param.rows == 1) {
    // The parts of a vector are pieces of its one row: as rows of one element they are put together like any
    // other.
    ParamPlan column = param;
    std::swap(column.rows, column.cols);
    RowReader reader(column, source);
    return packRows(column, reader, emit);
  }
  RowReader reader(param, source);
  return param.layout == qfmt::Layout::Row ? packRows(param, reader, emit) : packPanels(param, reader, emit);
}

} // namespace ingot::package
