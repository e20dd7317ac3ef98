#include "engine/runtime/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <new>

namespace attn {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::byte* map(std::size_t bytes, int flags) {
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(mapped);
}

void advise(std::byte* begin, const std::byte* end, int advice) noexcept {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto from = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page * page;
  const auto to = reinterpret_cast<std::uintptr_t>(end) / page * page;
  if (from < to) madvise(begin + (from - reinterpret_cast<std::uintptr_t>(begin)), to - from, advice);
}

}  // namespace

void* allocate_block(std::size_t bytes) {
  const std::size_t unit = bytes >= kHugePage ? kHugePage : kCacheLine;
  const std::size_t rounded = (bytes + unit - 1) / unit * unit;
  void* const block = std::aligned_alloc(unit, rounded);
  if (block == nullptr) throw std::bad_alloc();
  if (unit == kHugePage) use_huge_pages(static_cast<std::byte*>(block), static_cast<std::byte*>(block) + rounded);
  return block;
}

std::byte* reserve_pages(std::size_t bytes) { return map(bytes, MAP_NORESERVE); }

// What is mapped beyond both ends is unmapped at once.
std::byte* reserve_huge_pages(std::size_t bytes) {
  const std::size_t room = bytes + kHugePage;
  std::byte* const start = map(room, 0);
  const std::size_t over = reinterpret_cast<std::uintptr_t>(start) % kHugePage;
  const std::size_t before = over == 0 ? 0 : kHugePage - over;
  if (before > 0) munmap(start, before);
  munmap(start + before + bytes, room - before - bytes);
  use_huge_pages(start + before, start + before + bytes);
  return start + before;
}

void free_pages(std::byte* pages, std::size_t bytes) noexcept { munmap(pages, bytes); }

void use_huge_pages([[maybe_unused]] std::byte* begin, [[maybe_unused]] std::byte* end) noexcept {
#if defined(MADV_HUGEPAGE)
  advise(begin, end, MADV_HUGEPAGE);
#endif
}

void return_pages(std::byte* begin, std::byte* end) noexcept { advise(begin, end, MADV_DONTNEED); }

}  // namespace attn
