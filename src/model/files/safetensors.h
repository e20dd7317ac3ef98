// model/files/safetensors.h - one safetensors file, mapped into memory and validated.
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

class MappedFile;

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

// The name that files use: "F32", "BF16", "BOOL".
std::string_view name_of(Dtype dtype) noexcept;
std::optional<Dtype> parse_dtype(std::string_view name) noexcept;
std::int64_t size_of(Dtype dtype) noexcept;  // bytes per element
// For messages: "[3, 4]"; a negative size prints as "any".
std::string shape_text(std::span<const std::int64_t> shape);

struct StoredTensor {
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape;
  mutable const std::byte* data = nullptr;  // not aligned; null until SafeTensors::load() where files cannot be mapped
  std::int64_t bytes = 0;
  std::int64_t offset = 0;  // from the start of the file
};

// The constructor validates the whole header: its length against the file's, JSON syntax, known dtypes, shapes whose
// size fits in 64 bits and matches the byte count, and offsets inside the file without overlaps or gaps. Throws
// attn::Error, with the tensor's name and both numbers. The file is mapped, not copied, where the system can map files.
class SafeTensors {
 public:
  static SafeTensors open(const std::filesystem::path& file);
  // A file that is already in memory. `bytes` must outlive the object and all tensors; `path` is its name in messages.
  static SafeTensors of(std::string_view bytes, std::string path);
  static SafeTensors open(const base::Folder& folder, const std::string& file);

  [[nodiscard]] const std::map<std::string, StoredTensor, std::less<>>& tensors() const noexcept { return tensors_; }
  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& metadata() const noexcept { return metadata_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }  // of the file

  // The tensor's bytes, in use for good, or until release(): files that are not mapped are read here. Throws
  // attn::Error if that fails.
  const std::byte* load(const StoredTensor& tensor) const;  // NOLINT(modernize-use-nodiscard): sets tensor.data
  const std::byte* load_until_released(const StoredTensor& tensor) const;  // NOLINT(modernize-use-nodiscard)
  // Drops a tensor, or the part of one that begins at tensor.data, from memory; `used` of its bytes are no longer
  // needed (by default all). A mapped file can still be read there. Does nothing for a file in memory.
  void release(const StoredTensor& tensor, std::int64_t used) const noexcept;
  void release(const StoredTensor& tensor) const noexcept { release(tensor, tensor.bytes); }

 private:
  SafeTensors() = default;
  void check_and_take();
  [[nodiscard]] std::string_view read(std::int64_t offset, std::int64_t bytes, bool stays) const;

  std::shared_ptr<const MappedFile> mapping_;  // null: the bytes belong to the caller
  std::string_view memory_;                    // without a mapping
  std::int64_t bytes_ = 0;
  std::string path_;
  std::map<std::string, StoredTensor, std::less<>> tensors_;
  std::map<std::string, std::string, std::less<>> metadata_;
};

// Writes a file that open() and every other reader accept: the header is padded so that data is aligned to 64 bytes,
// and tensors keep the given order. The file is written under a temporary name and moved into place; on failure nothing
// is left and attn::Error is thrown. `between` is called before each tensor; if it throws, writing fails.
struct TensorToStore {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape;
  const void* data = nullptr;
};
void write_safetensors(const std::filesystem::path& file, const std::vector<TensorToStore>& tensors,
                       const std::map<std::string, std::string, std::less<>>& metadata = {},
                       const std::function<void()>& between = {});
// The same bytes, passed to `write` piece by piece.
using WriteBytes = std::function<void(std::string_view)>;
void write_safetensors(const WriteBytes& write, const std::vector<TensorToStore>& tensors,
                       const std::map<std::string, std::string, std::less<>>& metadata = {});

}  // namespace attn::model
