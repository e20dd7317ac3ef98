// bench/wasm/calls.h - attention and products behind C functions, compiled for this machine and to WebAssembly. Python
// calls the former by ctypes (native.py), node the latter (module.mjs).
#pragma once

#include <cstddef>

extern "C" {

inline constexpr std::size_t kBenchText = 256;
char* bench_text();  // kBenchText bytes, for the text that bench_make reads

// Makes the work that the text describes, from the same random numbers everywhere, and returns its number, or -1:
//
//   attention B H N D TYPE SOFTCAP MASK   MASK as parse_mask takes it; TYPE, of K and V: float, half, bfloat, or wild:
//                                         halves with an infinity and a NaN among the values
//   product ROWS IN OUT TYPE FUNCTION     y = FUNCTION(x W^T + bias), W packed in advance; FUNCTION: none, gelu, tanh
int bench_make();

void bench_run(int work, int count);      // `count` times, on one thread
std::size_t bench_result_size(int work);  // floats
const float* bench_result(int work);      // of the last run

// Not in WebAssembly: has all kernels use the instruction set of this name ("SSE4"), or the best one ("best"), until
// the next call. Work runs with the one it was made with. Returns 0 if this machine does not have it.
int bench_use_target(const char* name);
}
