// tests/support/targets.h - runs a test once for each instruction set of this machine.
#pragma once

#include <hwy/targets.h>

#include <cstdint>
#include <vector>

namespace attn::test {

// While this lives, all kernels use one target.
class OnlyTarget {
 public:
  explicit OnlyTarget(std::int64_t target) { hwy::SetSupportedTargetsForTest(target); }
  ~OnlyTarget() { hwy::SetSupportedTargetsForTest(0); }
  OnlyTarget(const OnlyTarget&) = delete;
  OnlyTarget& operator=(const OnlyTarget&) = delete;
};

// Calls f(name) with the kernels bound to each target in turn.
template <typename F>
void on_every_target(F&& f) {
  const std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  for (const std::int64_t target : targets) {
    const OnlyTarget only(target);
    f(hwy::TargetName(target));
  }
}

}  // namespace attn::test
