// base/heap.h - keeps the memory of a program that runs for days close to what it uses.
#pragma once

namespace attn::base {

// For a program that serves: few heaps for all threads, and blocks of 256 kB and more straight from the system, to
// which they return when they are freed. Call it before other threads start. Does nothing but with glibc.
void prefer_small_heap() noexcept;

// Returns memory that was freed to the system, at most once per second. Takes milliseconds.
void trim_heap() noexcept;

}  // namespace attn::base
