#include "nn/infer/matrix.h"

#include <cstdlib>
#include <new>
#include <utility>

#include "engine/runtime/pages.h"

namespace attn::nn {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

AlignedMemory::AlignedMemory(std::int64_t bytes) {
  if (bytes == 0) return;
  if (!std::in_range<std::size_t>(bytes)) throw std::bad_alloc();
  auto size = static_cast<std::size_t>(bytes);
  if (size >= kHugePage) {
    size = (size + kPage - 1) / kPage * kPage;
    data_ = reserve_huge_pages(size);
    mapped_ = size;
    return;
  }
  data_ = static_cast<std::byte*>(allocate_block(size));
}

AlignedMemory::~AlignedMemory() {
  if (mapped_ > 0) {
    free_pages(data_, mapped_);
  } else {
    std::free(data_);
  }
}

}  // namespace attn::nn
