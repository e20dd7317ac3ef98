#include "model/files/mapped_files.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "attn/error.h"
#include "base/read_file.h"
#include "engine/runtime/pages.h"

namespace attn::model {

namespace {

// A signal handler may neither lock nor allocate, so that the list is an array of atomics. A place is free if it has no
// owner, and is looked at only if it has a beginning. Files beyond the last place are mapped all the same.
struct MappedPlace {
  std::atomic<const void*> owner{nullptr};
  std::atomic<const std::byte*> begin{nullptr};
  std::atomic<std::int64_t> bytes{0};
  std::atomic<const char*> path{nullptr};
};
constinit std::array<MappedPlace, 512> mapped_places;

void write_error(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

void on_bus_error(int signal, siginfo_t* facts, void*) noexcept {
  const auto at = reinterpret_cast<std::uintptr_t>(facts->si_addr);
  for (const MappedPlace& place : mapped_places) {
    const auto begin = reinterpret_cast<std::uintptr_t>(place.begin.load(std::memory_order_acquire));
    if (begin == 0 || at < begin || at - begin >= static_cast<std::uintptr_t>(place.bytes.load())) continue;
    write_error("attnscope: ");
    write_error(place.path.load());
    write_error(
        ": became shorter, or unreadable, while it was in use; to replace a file, move a complete one into its "
        "place\n");
    ::_exit(1);
  }
  ::signal(signal, SIG_DFL);  // the instruction runs again, and the default follows
}

}  // namespace

struct MappedFile::State {
  State(const base::OpenFile& file, std::string its_path) : path(std::move(its_path)), bytes(file.bytes()) {
    void* mapped = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
    if (mapped == MAP_FAILED) throw Error(path, "cannot be mapped: " + base::system_words(errno));
    data = static_cast<std::byte*>(mapped);
    for (std::size_t n = 0; n < mapped_places.size(); ++n) {
      const void* nobody = nullptr;
      if (!mapped_places[n].owner.compare_exchange_strong(nobody, this)) continue;
      place = n;
      mapped_places[n].bytes = bytes;
      mapped_places[n].path = path.c_str();
      mapped_places[n].begin = data;
      break;
    }
  }
  ~State() {
    if (place < mapped_places.size()) {
      mapped_places[place].begin = nullptr;
      mapped_places[place].owner = nullptr;
    }
    ::munmap(data, static_cast<std::size_t>(bytes));
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  const std::string path;
  const std::int64_t bytes;
  std::byte* data = nullptr;
  std::size_t place = mapped_places.size();  // in the list that a signal handler can read
};

MappedFile::MappedFile(const base::OpenFile& file, std::string path)
    : state_(std::make_unique<State>(file, std::move(path))), bytes_(file.bytes()) {}

MappedFile::~MappedFile() = default;

bool MappedFile::reads_when_needed() noexcept { return false; }

const std::byte* MappedFile::part(std::int64_t offset, std::int64_t, Use) const { return state_->data + offset; }

// Releases whole pages only: those at the ends also belong to neighbouring tensors, which may be in use. A released
// page that is touched again is read again; that costs time, never correctness.
void MappedFile::release(const std::byte* first, std::int64_t span, std::int64_t) const noexcept {
  const auto distance = reinterpret_cast<std::uintptr_t>(first) - reinterpret_cast<std::uintptr_t>(state_->data);
  if (distance >= static_cast<std::uintptr_t>(bytes_)) return;  // not in this file; before it, it wraps
  const auto at = static_cast<std::int64_t>(distance);
  return_pages(state_->data + at, state_->data + at + std::min(span, bytes_ - at));
}

void explain_truncated_files() noexcept {
  struct sigaction action{};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace attn::model
