// model/files/safetensors.h - one safetensors file, mapped and checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/view.h"
#include "base/folder.h"

namespace attn::model {

enum class Dtype : std::uint8_t {
  f64,
  f32,
  f16,
  bf16,
  i64,
  i32,
  i16,
  i8,
  u64,
  u32,
  u16,
  u8,
  boolean,
  f8_e4m3,
  f8_e5m2
};

// As files write it: "F32", "BF16", "BOOL".
std::string_view name_of(Dtype dtype) noexcept;
std::optional<Dtype> parse_dtype(std::string_view name) noexcept;
std::int64_t size_of(Dtype dtype) noexcept;  // bytes that one element takes
// For messages: "[3, 4]"; a negative number is "any".
std::string shape_text(std::span<const std::int64_t> shape);

struct StoredTensor {
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape;
  const std::byte* data = nullptr;  // in the mapping; aligned to nothing
  std::int64_t bytes = 0;
  std::int64_t offset = 0;  // in the file
};

// The whole header is checked before anything is believed: its length against the file's, that it is a JSON object,
// known dtypes, shapes whose product fits and agrees with the bytes, places inside the file that neither overlap nor
// leave a gap. Throws attn::Error, with the tensor's name and both numbers. The file is mapped, never copied.
class SafeTensors {
 public:
  static SafeTensors open(const std::filesystem::path& file);
  // A file that lies in memory, which must outlive all that is made from it; `path` is its name in messages.
  static SafeTensors of(std::string_view bytes, std::string path);
  static SafeTensors open(const base::Folder& folder, const std::string& file);

  [[nodiscard]] const std::map<std::string, StoredTensor, std::less<>>& tensors() const noexcept { return tensors_; }
  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& metadata() const noexcept { return metadata_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::int64_t bytes() const noexcept { return static_cast<std::int64_t>(bytes_.size()); }  // all

  // This tensor's pages are not needed soon: they no longer count as ours. Reading them again is still possible.
  // Nothing is done where the bytes are not ours.
  void release(const StoredTensor& tensor) const noexcept;

 private:
  SafeTensors() = default;
  void check_and_take();

  struct Mapping;
  std::shared_ptr<const Mapping> mapping_;  // null: the bytes are not ours
  std::string_view bytes_;
  std::string path_;
  std::map<std::string, StoredTensor, std::less<>> tensors_;
  std::map<std::string, std::string, std::less<>> metadata_;
};

// Writes a file that open() and every other reader take: header padded so that data is aligned to 64 bytes, tensors in
// the order given. Written beside and moved into place; on any failure nothing is left and attn::Error is thrown.
// `between` is called before each tensor; what it throws is such a failure.
struct TensorToStore {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape;
  const void* data = nullptr;
};
void write_safetensors(const std::filesystem::path& file, const std::vector<TensorToStore>& tensors,
                       const std::map<std::string, std::string, std::less<>>& metadata = {},
                       const std::function<void()>& between = {});
// The same bytes to wherever `write` puts them, part after part.
using WriteBytes = std::function<void(std::string_view)>;
void write_safetensors(const WriteBytes& write, const std::vector<TensorToStore>& tensors,
                       const std::map<std::string, std::string, std::less<>>& metadata = {});

}  // namespace attn::model
