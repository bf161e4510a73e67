//===- Safetensors.cpp - arrays of references and dumps -------------------------------------------------===//

#include "runtime/main/Safetensors.h"

#include "runtime/main/TextModel.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace ingot::main_ {

bool ArrayFile::open(const std::string &file, std::string &error) {
  path = file;
  if (!readFile(file, data, error))
    return false;
  uint64_t length = 0;
  if (data.size() < 8) {
    error = file + ": no safetensors file";
    return false;
  }
  std::memcpy(&length, data.data(), 8);
  if (length > data.size() - 8) {
    error = file + ": the header runs past the end";
    return false;
  }
  nlohmann::json header =
      nlohmann::json::parse(data.begin() + 8, data.begin() + 8 + static_cast<ptrdiff_t>(length), nullptr,
                            /*allow_exceptions=*/false);
  if (!header.is_object()) {
    error = file + ": the header is no JSON object";
    return false;
  }
  uint64_t base = 8 + length, room = data.size() - base;
  for (const auto &[name, value] : header.items()) {
    if (name == "__metadata__")
      continue;
    Array array;
    auto dtype = value.find("dtype"), shape = value.find("shape"), offsets = value.find("data_offsets");
    bool ok = value.is_object() && dtype != value.end() && dtype->is_string() && shape != value.end() &&
              shape->is_array() && offsets != value.end() && offsets->is_array() && offsets->size() == 2 &&
              (*offsets)[0].is_number_unsigned() && (*offsets)[1].is_number_unsigned();
    uint64_t begin = ok ? (*offsets)[0].get<uint64_t>() : 0, end = ok ? (*offsets)[1].get<uint64_t>() : 0;
    ok = ok && begin <= end && end <= room;
    uint64_t elements = 1;
    for (size_t i = 0; ok && i < shape->size(); ++i) {
      ok = (*shape)[i].is_number_unsigned() &&
           !__builtin_mul_overflow(elements, (*shape)[i].get<uint64_t>(), &elements) && elements <= room;
      if (ok)
        array.shape.push_back((*shape)[i].get<int64_t>());
    }
    ok = ok && elements * 4 == end - begin;
    if (!ok) {
      error = file + ": array '" + name + "' is not described as F32 or I32 data inside the file";
      return false;
    }
    array.dtype = dtype->get<std::string>();
    array.begin = base + begin;
    array.bytes = end - begin;
    arrays[name] = array;
  }
  return true;
}

const ArrayFile::Array *ArrayFile::find(const std::string &name, const char *dtype,
                                        std::string &error) const {
  auto it = arrays.find(name);
  if (it == arrays.end()) {
    error = path + ": no array '" + name + "'";
    return nullptr;
  }
  if (it->second.dtype != dtype) {
    error = path + ": array '" + name + "' is " + it->second.dtype + ", not " + dtype;
    return nullptr;
  }
  return &it->second;
}

bool ArrayFile::floats(const std::string &name, std::vector<float> &out, std::vector<int64_t> &shape,
                       std::string &error) const {
  const Array *array = find(name, "F32", error);
  if (!array)
    return false;
  shape = array->shape;
  out.resize(array->bytes / 4);
  std::memcpy(out.data(), data.data() + array->begin, array->bytes);
  return true;
}

bool ArrayFile::integers(const std::string &name, std::vector<int32_t> &out, std::vector<int64_t> &shape,
                         std::string &error) const {
  const Array *array = find(name, "I32", error);
  if (!array)
    return false;
  shape = array->shape;
  out.resize(array->bytes / 4);
  std::memcpy(out.data(), data.data() + array->begin, array->bytes);
  return true;
}

namespace {

/// A file that takes its name only once it is complete.
class NewFile {
public:
  bool create(const std::string &target, std::string &error) {
    path = target;
    temporary = target + ".XXXXXX";
    int fd = ::mkstemp(temporary.data());
    file = fd < 0 ? nullptr : ::fdopen(fd, "wb");
    return file || fail(error);
  }
  ~NewFile() {
    if (file)
      std::fclose(file);
    if (!done && !temporary.empty())
      ::unlink(temporary.c_str());
  }
  bool write(const void *data, size_t bytes, std::string &error) {
    return std::fwrite(data, 1, bytes, file) == bytes || fail(error);
  }
  bool commit(std::string &error) {
    mode_t mask = ::umask(0);
    ::umask(mask);
    bool ok = ::fchmod(::fileno(file), 0666 & ~mask) == 0;
    ok = std::fclose(std::exchange(file, nullptr)) == 0 && ok;
    done = ok && ::rename(temporary.c_str(), path.c_str()) == 0;
    return done || fail(error);
  }

private:
  bool fail(std::string &error) {
    error = "cannot write " + path + ": " + std::strerror(errno);
    return false;
  }
  std::string path, temporary;
  FILE *file = nullptr;
  bool done = false;
};

} // namespace

bool writeArrays(const std::string &path, const std::map<std::string, DumpArray> &arrays,
                 std::string &error) {
  nlohmann::json header = nlohmann::json::object();
  uint64_t at = 0;
  for (const auto &[name, array] : arrays) {
    uint64_t bytes = array.values.size() * sizeof(float);
    header[name] = {{"dtype", "F32"}, {"shape", array.shape}, {"data_offsets", {at, at + bytes}}};
    at += bytes;
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  uint64_t length = text.size();
  NewFile file;
  if (!file.create(path, error) || !file.write(&length, 8, error) ||
      !file.write(text.data(), text.size(), error))
    return false;
  for (const auto &[name, array] : arrays)
    if (!file.write(array.values.data(), array.values.size() * sizeof(float), error))
      return false;
  return file.commit(error);
}

bool writeFileAtomically(const std::string &path, const std::string &bytes, std::string &error) {
  NewFile file;
  return file.create(path, error) && file.write(bytes.data(), bytes.size(), error) && file.commit(error);
}

} // namespace ingot::main_
