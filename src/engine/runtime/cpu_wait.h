// engine/runtime/cpu_wait.h - system-dependent parts of the thread pool: pausing, sleeping, rounding mode.
#pragma once

#include <atomic>
#include <cstdint>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace attn {

// A hint to the core that this is a spin loop.
inline void cpu_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  __asm__ __volatile__("yield");
#endif
}

// Sleeps while the word has this value; may return early. std::atomic::wait would do, but that of libstdc++ yields four
// times before it sleeps and keeps its waiters in a table shared by the whole program.
inline void wait_while(std::atomic<std::uint32_t>& word, std::uint32_t value) noexcept {
#if defined(__linux__)
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
#else
  word.wait(value);
#endif
}

inline void wake_one(std::atomic<std::uint32_t>& word) noexcept {
#if defined(__linux__)
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
#else
  word.notify_one();
#endif
}

// Rounding and flush-to-zero mode, which belong to a thread. Helpers copy the caller's; otherwise the bits of a result
// would depend on the thread that computed it.
#if defined(__x86_64__)
using FloatMode = unsigned;
inline FloatMode float_mode() noexcept { return __builtin_ia32_stmxcsr() & ~0x3fu; }  // without the sticky flags
inline void set_float_mode(FloatMode mode) noexcept {
  if (mode != float_mode()) __builtin_ia32_ldmxcsr(mode);
}
#elif defined(__aarch64__)
using FloatMode = std::uint64_t;
inline FloatMode float_mode() noexcept {
  FloatMode mode;
  __asm__ __volatile__("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
inline void set_float_mode(FloatMode mode) noexcept {
  if (mode != float_mode()) __asm__ __volatile__("msr fpcr, %0" : : "r"(mode));
}
#else
struct FloatMode {};
inline FloatMode float_mode() noexcept { return {}; }
inline void set_float_mode(FloatMode) noexcept {}
#endif

}  // namespace attn
