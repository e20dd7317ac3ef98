// The entry points of libFuzzer, for the target that ATTNSCOPE_FUZZ_TARGET names.
//
// ATTNSCOPE_FUZZ_AVX2=1 hides AVX-512, so that a machine that has it runs the AVX2 kernels.
#include <hwy/targets.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  if (std::getenv("ATTNSCOPE_FUZZ_AVX2") != nullptr) hwy::SetSupportedTargetsForTest(HWY_AVX2 | HWY_SSE4);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const attn::fuzz::Target* const target = attn::fuzz::find_target(ATTNSCOPE_FUZZ_TARGET);
  attn::fuzz::require(target != nullptr, "fuzz.cc lists every target");
  target->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
