// bench/engine/probe.h - the two limits of a core that everything else is measured against. Called from Python by
// ctypes.
#pragma once

#include <cstddef>

extern "C" {

// Fused multiply-adds in the widest vectors, nothing else, for about this many seconds of CPU time. Returns FLOP (two a
// lane) a second of CPU time.
double bench_fma_peak(double seconds);

// Reads the bytes once, front to back, with the widest vectors. Returns their sum as 32-bit words, so that no compiler
// can leave the reading out. data must be aligned to 4 bytes.
unsigned bench_plain_read(const void* data, std::size_t bytes);
}
