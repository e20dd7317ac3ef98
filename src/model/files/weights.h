// model/files/weights.h - all tensors of a model folder, by name.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attn/view.h"
#include "base/folder.h"
#include "model/files/safetensors.h"
#include "nn/infer/linear.h"

namespace attn::model {

// Reads model.safetensors, or the shards that model.safetensors.index.json lists. If the folder has only a
// pytorch_model.bin, the error explains how to convert it.
class Weights {
 public:
  explicit Weights(const base::Folder& folder);  // throws attn::Error
  Weights(Weights&&) noexcept = default;
  Weights& operator=(Weights&&) noexcept = default;
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;

  // Prefix for all later lookups: "bert." in some files, empty in others. A name that is not found is also tried
  // without the prefix.
  void set_prefix(std::string prefix) { prefix_ = std::move(prefix); }
  [[nodiscard]] bool has(std::string_view name) const;

  // Views into the mapped file. Numbers may be unaligned, so scalar code reads them by memcpy. Throw attn::Error if the
  // tensor is missing (the message lists the nearest names), has another shape (both are given), or is not float32,
  // float16 or bfloat16. matrix(name, -1, n) accepts any number of rows.
  [[nodiscard]] AnyView<1> vector(std::string_view name, std::int64_t length) const;
  [[nodiscard]] AnyView<2> matrix(std::string_view name, std::int64_t rows, std::int64_t columns) const;

  // vector(), converted to floats.
  [[nodiscard]] std::vector<float> floats(std::string_view name, std::int64_t length) const;

  // "<name>.weight" [out, in] and, if the file has it, "<name>.bias" [out]. The matrix may be gone once it is packed:
  // see release(). Tables that are also looked up in come from matrix(), and stay.
  [[nodiscard]] nn::Weight linear(std::string_view name, std::int64_t in, std::int64_t out) const;
  // The same, stored as [in, out]: GPT-2's Conv1D.
  [[nodiscard]] nn::Weight conv1d(std::string_view name, std::int64_t in, std::int64_t out) const;

  // Releases the pages of a matrix, or of a part of one, once it has been packed.
  void release(const nn::Weight& weight) const noexcept;

  [[nodiscard]] std::int64_t parameters() const noexcept;  // elements of all floating-point tensors
  [[nodiscard]] std::int64_t bytes() const noexcept;       // of all files

 private:
  struct Place {
    const SafeTensors* file = nullptr;
    const StoredTensor* tensor = nullptr;
  };
  void open_shards(const base::Folder& folder);
  [[nodiscard]] AnyView<2> until_packed(std::string_view name, std::int64_t rows, std::int64_t columns) const;
  [[nodiscard]] const Place* find(std::string_view name) const;
  [[nodiscard]] const Place& need(std::string_view name) const;

  std::string folder_, prefix_;
  std::vector<std::unique_ptr<SafeTensors>> files_;
  std::map<std::string, Place, std::less<>> places_;
};

}  // namespace attn::model
