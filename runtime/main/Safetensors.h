//===- Safetensors.h - arrays of references and dumps ---------------------------------------------------===//
#ifndef INGOT_RUNTIME_MAIN_SAFETENSORS_H
#define INGOT_RUNTIME_MAIN_SAFETENSORS_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ingot::main_ {

/// Arrays of f32 or i32 from a safetensors file, read as a whole: references are small.
class ArrayFile {
public:
  bool open(const std::string &path, std::string &error);
  bool has(const std::string &name) const { return arrays.count(name) != 0; }
  /// Values of an F32 array; false and a message where it is absent or of another type.
  bool floats(const std::string &name, std::vector<float> &out, std::vector<int64_t> &shape,
              std::string &error) const;
  bool integers(const std::string &name, std::vector<int32_t> &out, std::vector<int64_t> &shape,
                std::string &error) const;

private:
  struct Array {
    std::string dtype;
    std::vector<int64_t> shape;
    uint64_t begin = 0, bytes = 0;
  };
  const Array *find(const std::string &name, const char *dtype, std::string &error) const;
  std::string path, data;
  std::map<std::string, Array> arrays;
};

/// F32 arrays to be written, in the order of their names.
struct DumpArray {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

/// Writes through a temporary file and a rename.
bool writeArrays(const std::string &path, const std::map<std::string, DumpArray> &arrays, std::string &error);

/// Writes text or bytes the same way.
bool writeFileAtomically(const std::string &path, const std::string &bytes, std::string &error);

} // namespace ingot::main_

#endif // INGOT_RUNTIME_MAIN_SAFETENSORS_H
