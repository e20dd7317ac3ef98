// engine/runtime/pages.h - memory straight from the system. pages.cc maps it; pages_wasm.cc has only a heap.
#pragma once

#include <cstddef>

namespace attn {

// A block of the heap, uninitialised, aligned to a cache line; freed by std::free(). Large blocks use huge pages if the
// system has them: fewer page faults when they are first written. Throws std::bad_alloc.
void* allocate_block(std::size_t bytes);

// Address space that takes memory page by page, as it is touched. Throws std::bad_alloc.
std::byte* reserve_pages(std::size_t bytes);
// The same, meant to be written at once: aligned to a huge page and backed by them if the system has them.
std::byte* reserve_huge_pages(std::size_t bytes);
void free_pages(std::byte* pages, std::size_t bytes) noexcept;

// Hints about the whole pages in [begin, end): back them by huge ones, or return their memory; what is read there
// afterwards is undefined. A system that refuses only costs speed or memory.
void use_huge_pages(std::byte* begin, std::byte* end) noexcept;
void return_pages(std::byte* begin, std::byte* end) noexcept;

}  // namespace attn
