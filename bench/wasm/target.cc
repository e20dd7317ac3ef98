// bench/wasm/target.cc - the choice between the instruction sets of this machine.
#include <hwy/targets.h>

#include <string_view>

#include "bench/wasm/calls.h"

int bench_use_target(const char* name) {
  const std::string_view wanted = name;
  hwy::SetSupportedTargetsForTest(0);
  if (wanted == "best") return 1;
  for (const auto target : hwy::SupportedAndGeneratedTargets()) {
    if (wanted != hwy::TargetName(target)) continue;
    hwy::SetSupportedTargetsForTest(target);
    return 1;
  }
  return 0;
}
