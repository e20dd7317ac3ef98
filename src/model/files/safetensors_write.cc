#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/new_file.h"
#include "base/one_line.h"
#include "model/files/safetensors.h"
#include "model/files/safetensors_header.h"

namespace attn::model {

namespace {

using nlohmann::json;

std::int64_t tensor_bytes(const TensorToStore& tensor) {
  const std::optional<std::int64_t> bytes = stored_bytes(tensor.dtype, tensor.shape);
  if (!bytes)
    throw std::invalid_argument("write_safetensors: tensor " + base::in_quotes(tensor.name) +
                                " has a negative size, or a size in bytes that overflows 64 bits");
  if (*bytes > 0 && tensor.data == nullptr)
    throw std::invalid_argument("write_safetensors: tensor " + base::in_quotes(tensor.name) + " has no data");
  return *bytes;
}

}  // namespace

std::string safetensors_header(const std::vector<TensorToStore>& tensors,
                               const std::map<std::string, std::string, std::less<>>& metadata) {
  json header = json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::int64_t end = 0;
  for (const TensorToStore& tensor : tensors) {
    const std::int64_t begin = end;
    if (tensor.name == "__metadata__" || header.contains(tensor.name))
      throw std::invalid_argument("write_safetensors: the name " + base::in_quotes(tensor.name) +
                                  " is used twice or reserved");
    if (__builtin_add_overflow(begin, tensor_bytes(tensor), &end))
      throw std::invalid_argument("write_safetensors: more bytes than a file can have");
    header[tensor.name] = {{"dtype", name_of(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const json::exception&) {
    throw std::invalid_argument("write_safetensors: names and metadata must be UTF-8");
  }
  constexpr std::size_t kAlign = 64;
  text.resize((kLengthBytes + text.size() + kAlign - 1) / kAlign * kAlign - kLengthBytes, ' ');
  if (static_cast<std::int64_t>(text.size()) > kMostHeaderBytes)
    throw std::invalid_argument("write_safetensors: the header would have " + std::to_string(text.size()) +
                                " bytes; at most " + std::to_string(kMostHeaderBytes) + " are allowed");
  const std::uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), kLengthBytes) + text;
}

void write_safetensors(const std::filesystem::path& file, const std::vector<TensorToStore>& tensors,
                       const std::map<std::string, std::string, std::less<>>& metadata,
                       const std::function<void()>& between) {
  static_cast<void>(safetensors_header(tensors, metadata));  // validates before a file is created
  base::NewFile out(file);
  const auto write = [&](std::string_view bytes) {
    if (between) between();
    out.write(bytes.data(), bytes.size());
  };
  write_safetensors(WriteBytes(write), tensors, metadata);
  out.commit();
}

void write_safetensors(const WriteBytes& write, const std::vector<TensorToStore>& tensors,
                       const std::map<std::string, std::string, std::less<>>& metadata) {
  write(safetensors_header(tensors, metadata));
  for (const TensorToStore& tensor : tensors)
    write({static_cast<const char*>(tensor.data), static_cast<std::size_t>(tensor_bytes(tensor))});
}

}  // namespace attn::model
