//===- TinyModel.h - Hugging Face directories made by tests -----*- C++ -*-===//
//
// Writes config.json and a model.safetensors whose data are zeros: enough for
// everything that looks at names, shapes and fields only.
//
//===----------------------------------------------------------------------===//
#ifndef INGOT_TEST_UNIT_IMPORT_TINYMODEL_H
#define INGOT_TEST_UNIT_IMPORT_TINYMODEL_H

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

namespace ingot::test {

class TinyModel {
public:
  using Shape = std::vector<int64_t>;

  /// `fields` are the members of config.json without the braces.
  explicit TinyModel(std::string fields) : fields(std::move(fields)) {
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("ingot-tiny", dir));
  }
  ~TinyModel() { llvm::sys::fs::remove_directories(dir); }

  TinyModel &tensor(const std::string &name, Shape shape, const std::string &dtype = "BF16") {
    tensors[name] = {std::move(shape), dtype};
    return *this;
  }
  TinyModel &drop(const std::string &name) {
    tensors.erase(name);
    return *this;
  }
  /// The tensors of a Llama-shaped decoder: width 8, 2 heads of 4, 1 kv head, ffn 16, vocabulary 12.
  TinyModel &decoder(int layers, bool biases = false, bool headNorms = false) {
    tensor("model.embed_tokens.weight", {12, 8}).tensor("model.norm.weight", {8});
    for (int i = 0; i < layers; ++i) {
      std::string p = "model.layers." + std::to_string(i) + ".";
      tensor(p + "input_layernorm.weight", {8}).tensor(p + "post_attention_layernorm.weight", {8});
      tensor(p + "self_attn.q_proj.weight", {8, 8}).tensor(p + "self_attn.k_proj.weight", {4, 8});
      tensor(p + "self_attn.v_proj.weight", {4, 8}).tensor(p + "self_attn.o_proj.weight", {8, 8});
      tensor(p + "mlp.gate_proj.weight", {16, 8}).tensor(p + "mlp.up_proj.weight", {16, 8});
      tensor(p + "mlp.down_proj.weight", {8, 16});
      if (biases)
        tensor(p + "self_attn.q_proj.bias", {8})
            .tensor(p + "self_attn.k_proj.bias", {4})
            .tensor(p + "self_attn.v_proj.bias", {4});
      if (headNorms)
        tensor(p + "self_attn.q_norm.weight", {4}).tensor(p + "self_attn.k_norm.weight", {4});
    }
    return *this;
  }
  /// Writes the files and returns the directory.
  std::string write() {
    std::string header;
    size_t offset = 0;
    for (const auto &[name, info] : tensors) {
      size_t bytes = info.second == "F32" ? 4 : 2;
      std::string shape;
      for (int64_t extent : info.first) {
        bytes *= extent;
        shape += (shape.empty() ? "" : ",") + std::to_string(extent);
      }
      header +=
          (header.empty() ? "{" : ",") +
          ("\"" + name + "\":{\"dtype\":\"" + info.second + "\",\"shape\":[" + shape +
           "],\"data_offsets\":[" + std::to_string(offset) + "," + std::to_string(offset + bytes) + "]}");
      offset += bytes;
    }
    header += "}";
    uint64_t size = header.size();
    put("model.safetensors",
        std::string(reinterpret_cast<char *>(&size), 8) + header + std::string(offset, '\0'));
    put("config.json", "{" + fields + "}");
    return dir.str().str();
  }

private:
  void put(const std::string &name, const std::string &bytes) {
    std::error_code ec;
    llvm::raw_fd_ostream(dir.str().str() + "/" + name, ec) << bytes;
    EXPECT_FALSE(ec);
  }

  std::string fields;
  std::map<std::string, std::pair<Shape, std::string>> tensors;
  llvm::SmallString<128> dir;
};

/// Sizes that TinyModel::decoder has.
inline std::string tinySizes(int layers) {
  return R"("hidden_size":8,"intermediate_size":16,"num_attention_heads":2,"num_key_value_heads":1,"vocab_size":12,)"
         R"("num_hidden_layers":)" +
         std::to_string(layers);
}

} // namespace ingot::test

#endif // INGOT_TEST_UNIT_IMPORT_TINYMODEL_H
