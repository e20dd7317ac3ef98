#include "nn/infer/matrix.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace attn::nn {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

// A mapping aligned to a huge page. What is mapped beyond both ends is unmapped at once.
std::byte* map_aligned(std::size_t bytes) {
  const std::size_t room = bytes + kHugePage;
  void* const mapped = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* const start = static_cast<std::byte*>(mapped);
  const std::size_t over = reinterpret_cast<std::uintptr_t>(start) % kHugePage;
  const std::size_t before = over == 0 ? 0 : kHugePage - over;
  if (before > 0) munmap(start, before);
  munmap(start + before + bytes, room - before - bytes);
#ifdef MADV_HUGEPAGE
  madvise(start + before, bytes, MADV_HUGEPAGE);
#endif
  return start + before;
}

}  // namespace

AlignedMemory::AlignedMemory(std::int64_t bytes) {
  if (bytes == 0) return;
  if (bytes < 0) throw std::bad_alloc();
  auto size = static_cast<std::size_t>(bytes);
  if (size >= kHugePage) {
    size = (size + kPage - 1) / kPage * kPage;
    data_ = map_aligned(size);
    mapped_ = size;
    return;
  }
  size = (size + kLine - 1) / kLine * kLine;
  void* const data = std::aligned_alloc(kLine, size);
  if (data == nullptr) throw std::bad_alloc();
  data_ = static_cast<std::byte*>(data);
}

AlignedMemory::~AlignedMemory() {
  if (mapped_ > 0) {
    munmap(data_, mapped_);
  } else {
    std::free(data_);
  }
}

}  // namespace attn::nn
