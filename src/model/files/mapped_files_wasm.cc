// model/files/mapped_files_wasm.cc - nothing can be mapped here: each part of a file, a tensor, is read when it is
// asked for and freed when it has been packed, so that a model takes about as much memory as its file.
#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "attn/error.h"
#include "base/read_file.h"
#include "model/files/mapped_files.h"
#include "nn/infer/matrix.h"

namespace attn::model {

namespace {

struct FilePart {
  nn::AlignedMemory memory;
  std::int64_t bytes = 0;
  std::int64_t passing = 0;  // bytes handed out in passing, and not released
  bool stays = false;
};

}  // namespace

// The file is opened anew for each part: a model has many tensors, and is read once.
struct MappedFile::State {
  std::string path;
  std::map<std::int64_t, FilePart> parts;  // by offset

  void read(std::int64_t offset, FilePart& part) const {
    const base::OpenFile file(path);
    const std::span bytes(reinterpret_cast<char*>(part.memory.data()), static_cast<std::size_t>(part.bytes));
    if (const std::int64_t n = file.read(offset, bytes); n < part.bytes)
      throw Error(path, "cannot be read to its end", offset + n);
  }
};

MappedFile::MappedFile(const base::OpenFile& file, std::string path)
    : state_(std::make_unique<State>()), bytes_(file.bytes()) {
  state_->path = std::move(path);
}

MappedFile::~MappedFile() = default;

bool MappedFile::reads_when_needed() noexcept { return true; }

const std::byte* MappedFile::part(std::int64_t offset, std::int64_t bytes, Use use) const {
  auto at = state_->parts.find(offset);
  if (at == state_->parts.end() || at->second.bytes < bytes) {
    FilePart fresh{nn::AlignedMemory(std::max(bytes, std::int64_t{1})), bytes};
    state_->read(offset, fresh);
    at = state_->parts.insert_or_assign(offset, std::move(fresh)).first;
  }
  if (use == Use::stays) at->second.stays = true;
  if (use == Use::passing) at->second.passing += bytes;
  return at->second.memory.data();
}

void MappedFile::release(const std::byte* first, std::int64_t, std::int64_t used) const noexcept {
  const auto holds = [&](const auto& part) {
    const std::byte* const begin = part.second.memory.data();
    return first >= begin && first < begin + std::max(part.second.bytes, std::int64_t{1});
  };
  const auto at = std::ranges::find_if(state_->parts, holds);
  if (at == state_->parts.end()) return;
  at->second.passing -= used;
  if (at->second.passing <= 0 && !at->second.stays) state_->parts.erase(at);
}

}  // namespace attn::model
