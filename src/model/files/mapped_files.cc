#include "model/files/mapped_files.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "attn/error.h"
#include "base/new_file.h"

namespace attn::model {

namespace {

// A signal handler may neither lock nor allocate, so that the list is an array of atomics. A place is free if it has no
// owner, and is looked at only if it has a beginning. Files beyond the last place are mapped all the same.
struct MappedPlace {
  std::atomic<const MappedFile*> owner{nullptr};
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

MappedFile::MappedFile(const base::OpenFile& file, std::string path)
    : path_(std::move(path)), bytes_(file.bytes()), place_(mapped_places.size()) {
  void* mapped = ::mmap(nullptr, static_cast<std::size_t>(bytes_), PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (mapped == MAP_FAILED) throw Error(path_, "cannot be mapped: " + base::system_words(errno));
  data_ = static_cast<const std::byte*>(mapped);
  for (std::size_t n = 0; n < mapped_places.size(); ++n) {
    const MappedFile* nobody = nullptr;
    if (!mapped_places[n].owner.compare_exchange_strong(nobody, this)) continue;
    place_ = n;
    mapped_places[n].bytes = bytes_;
    mapped_places[n].path = path_.c_str();
    mapped_places[n].begin = data_;
    break;
  }
}

MappedFile::~MappedFile() {
  if (place_ < mapped_places.size()) {
    mapped_places[place_].begin = nullptr;
    mapped_places[place_].owner = nullptr;
  }
  ::munmap(const_cast<std::byte*>(data_), static_cast<std::size_t>(bytes_));
}

void explain_truncated_files() noexcept {
  struct sigaction action{};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace attn::model
