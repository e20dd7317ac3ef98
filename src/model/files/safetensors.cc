#include "model/files/safetensors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "attn/error.h"
#include "base/one_line.h"
#include "base/read_file.h"
#include "model/files/mapped_files.h"
#include "model/files/safetensors_header.h"

namespace attn::model {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian and used in place");

namespace {

struct DtypeFacts {
  std::string_view name;
  std::int64_t bytes;
};

// In the order of Dtype.
constexpr std::array<DtypeFacts, 15> kDtypes = {{{"F64", 8},
                                                 {"F32", 4},
                                                 {"F16", 2},
                                                 {"BF16", 2},
                                                 {"I64", 8},
                                                 {"I32", 4},
                                                 {"I16", 2},
                                                 {"I8", 1},
                                                 {"U64", 8},
                                                 {"U32", 4},
                                                 {"U16", 2},
                                                 {"U8", 1},
                                                 {"BOOL", 1},
                                                 {"F8_E4M3", 1},
                                                 {"F8_E5M2", 1}}};

}  // namespace

std::string_view name_of(Dtype dtype) noexcept {
  const auto index = static_cast<std::size_t>(dtype);
  return index < kDtypes.size() ? kDtypes[index].name : "";
}

std::optional<Dtype> parse_dtype(std::string_view name) noexcept {
  const auto at = std::ranges::find(kDtypes, name, &DtypeFacts::name);
  if (at == kDtypes.end()) return std::nullopt;
  return static_cast<Dtype>(at - kDtypes.begin());
}

std::int64_t size_of(Dtype dtype) noexcept { return kDtypes[static_cast<std::size_t>(dtype)].bytes; }

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (const std::int64_t n : shape) text += (text.size() > 1 ? ", " : "") + (n < 0 ? "any" : std::to_string(n));
  return text + "]";
}

namespace {

constexpr std::string_view kGitLfs = "version ";  // a pointer's first bytes; as a length they would be 2e18

void check_length(std::int64_t bytes, const std::string& path) {
  if (bytes < kLengthBytes)
    throw Error(path, "has " + std::to_string(bytes) + " bytes; a safetensors file has at least 10");
}

// The length of the header, from the first bytes of the file.
std::int64_t header_length(std::string_view start, std::int64_t bytes, const std::string& path) {
  if (start == kGitLfs)
    throw Error(path, "is a Git LFS pointer, not the weights themselves; 'git lfs pull' fetches them");
  std::uint64_t length = 0;
  std::memcpy(&length, start.data(), kLengthBytes);
  if (length > static_cast<std::uint64_t>(kMostHeaderBytes))
    throw Error(path,
                "not a safetensors file: its first 8 bytes give a header length of " + std::to_string(length) +
                    " bytes; at most " + std::to_string(kMostHeaderBytes) + " are allowed",
                0);
  if (static_cast<std::int64_t>(length) > bytes - kLengthBytes)
    throw Error(path,
                "the header should have " + std::to_string(length) + " bytes, but only " +
                    std::to_string(bytes - kLengthBytes) + " follow; the file is probably truncated",
                0);
  return static_cast<std::int64_t>(length);
}

// Each tensor begins where the previous one ends, the first at the end of the header, and the last ends the file.
void check_tiling(const std::map<std::string, StoredTensor, std::less<>>& tensors, const HeaderPlace& place) {
  std::vector<const std::pair<const std::string, StoredTensor>*> all;
  all.reserve(tensors.size());
  for (const auto& named : tensors) all.push_back(&named);
  std::ranges::sort(all, {}, [](const auto* t) { return std::pair(t->second.offset, t->second.bytes); });

  std::int64_t end = place.data_begin;
  std::string before = "the header";
  for (const auto* named : all) {
    const auto& [name, tensor] = *named;
    if (tensor.offset != end)
      throw Error(place.path,
                  "tensor " + base::in_quotes(name) + " begins here, but " + before + " ends at byte " +
                      std::to_string(end) + (tensor.offset < end ? ": they overlap" : ": a gap"),
                  tensor.offset);
    end += tensor.bytes;
    before = "tensor " + base::in_quotes(name);
  }
  if (end != place.file_bytes)
    throw Error(place.path, before + " ends here, but the file has " + std::to_string(place.file_bytes) + " bytes",
                end);
}

}  // namespace

SafeTensors SafeTensors::open(const std::filesystem::path& file) {
  SafeTensors result;
  result.path_ = file.string();
  const base::OpenFile opened(file);
  check_length(opened.bytes(), result.path_);
  result.mapping_ = std::make_shared<const MappedFile>(opened, result.path_);
  result.bytes_ = opened.bytes();
  result.check_and_take();
  return result;
}

SafeTensors SafeTensors::of(std::string_view bytes, std::string path) {
  SafeTensors result;
  result.path_ = std::move(path);
  result.memory_ = bytes;
  result.bytes_ = static_cast<std::int64_t>(bytes.size());
  check_length(result.bytes(), result.path_);
  result.check_and_take();
  return result;
}

SafeTensors SafeTensors::open(const base::Folder& folder, const std::string& file) {
  const std::optional<std::string_view> bytes = folder.bytes(file);
  return bytes ? of(*bytes, folder.shown(file)) : open(folder.path(file));
}

std::string_view SafeTensors::read(std::int64_t offset, std::int64_t bytes, bool stays) const {
  if (!mapping_) return memory_.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(bytes));
  return {reinterpret_cast<const char*>(
              mapping_->part(offset, bytes, stays ? MappedFile::Use::stays : MappedFile::Use::passing)),
          static_cast<std::size_t>(bytes)};
}

void SafeTensors::check_and_take() {
  const std::string_view start = read(0, kLengthBytes, true);
  const std::int64_t length = header_length(start, bytes_, path_);
  const std::string_view text = read(kLengthBytes, length, false);
  if (!text.starts_with('{')) throw Error(path_, "the header does not begin with '{'", kLengthBytes);
  const HeaderPlace place{path_, kLengthBytes + length, bytes_};
  SafeTensorsHeader header = read_safetensors_header(text, place);
  check_tiling(header.tensors, place);
  if (mapping_) mapping_->release(reinterpret_cast<const std::byte*>(text.data()), length, length);
  tensors_ = std::move(header.tensors);
  metadata_ = std::move(header.metadata);
  if (!mapping_ || !MappedFile::reads_when_needed())
    for (const auto& [name, tensor] : tensors_) load(tensor);
}

const std::byte* SafeTensors::load(const StoredTensor& tensor) const {
  return tensor.data = reinterpret_cast<const std::byte*>(read(tensor.offset, tensor.bytes, true).data());
}

const std::byte* SafeTensors::load_until_released(const StoredTensor& tensor) const {
  return tensor.data = reinterpret_cast<const std::byte*>(read(tensor.offset, tensor.bytes, false).data());
}

void SafeTensors::release(const StoredTensor& tensor, std::int64_t used) const noexcept {
  if (mapping_) mapping_->release(tensor.data, tensor.bytes, used);
}

}  // namespace attn::model
