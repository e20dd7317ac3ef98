// engine/runtime/pages_wasm.cc - WebAssembly has one growing memory and no pages that can be returned: all of it is
// heap.
#include <cstdlib>
#include <new>

#include "engine/runtime/pages.h"

namespace attn {

void* allocate_block(std::size_t bytes) {
  constexpr std::size_t kCacheLine = 64;
  void* const block = std::aligned_alloc(kCacheLine, (bytes + kCacheLine - 1) / kCacheLine * kCacheLine);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

std::byte* reserve_pages(std::size_t bytes) { return static_cast<std::byte*>(allocate_block(bytes)); }
std::byte* reserve_huge_pages(std::size_t bytes) { return reserve_pages(bytes); }
void free_pages(std::byte* pages, std::size_t) noexcept { std::free(pages); }
void use_huge_pages(std::byte*, std::byte*) noexcept {}
void return_pages(std::byte*, std::byte*) noexcept {}

}  // namespace attn
