// bench/engine/probe.h - the two limits of a core to which everything else is compared: arithmetic and memory. Called
// from Python by ctypes.
#pragma once

#include <cstddef>

extern "C" {

// Runs fused multiply-adds in the widest vectors, and nothing else, for about this many seconds of CPU time. Returns
// FLOP (two per lane) per second of CPU time.
double bench_fma_peak(double seconds);

// Reads the bytes once, from front to back, in the widest vectors. Returns their sum as 32-bit words, so that no
// compiler can remove the loads. data must be aligned to 4 bytes.
unsigned bench_plain_read(const void* data, std::size_t bytes);
}
