#include "figure/layout/memory.h"

#include <glib.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <new>

namespace attn::figure {

namespace {

// Measured: with the fonts of Debian's fonts-noto packages, loading them and starting pango's two threads takes 70 MB
// of address space.
constexpr std::size_t kFontBytes = std::size_t{96} << 20;

std::atomic<void (*)()> no_memory_handler{nullptr};

void on_glib_message(const gchar* domain, GLogLevelFlags level, const gchar* message, gpointer data) {
  void (*const handler)() = no_memory_handler.load();
  if ((level & G_LOG_LEVEL_ERROR) != 0 && handler != nullptr) handler();
  g_log_default_handler(domain, level, message, data);
}

}  // namespace

void require_memory_for_fonts() {
  static std::atomic<bool> enough{false};  // once loaded, fonts stay
  if (enough) return;
  void* const room = ::mmap(nullptr, kFontBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) throw std::bad_alloc();
  ::munmap(room, kFontBytes);
  enough = true;
}

void on_no_memory(void (*handler)()) {
  no_memory_handler = handler;
  g_log_set_default_handler(on_glib_message, nullptr);
}

}  // namespace attn::figure
