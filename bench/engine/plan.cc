// bench/engine/plan.cc - the cost of compiling a mask, beside the call that uses it: 8 heads, 4,096 tokens, D = 64.
//
// Prints JSON: for each mask the time of a plan, of a call with that plan, and the plan's share of both.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "attn/mask.h"
#include "attn/thread_pool.h"
#include "attn/tile_plan.h"
#include "bench/engine/cpu_clock.h"
#include "bench/engine/problem.h"

namespace {

constexpr std::int64_t kTokens = 4096;

struct Named {
  std::string name;
  attn::Mask mask;
};

// Documents of 512 tokens in one sequence.
std::vector<std::int64_t> documents() {
  std::vector<std::int64_t> ids(kTokens);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i / 512);
  return ids;
}

std::vector<Named> masks() {
  using attn::Causal, attn::Document, attn::Padding, attn::Window;
  return {
      {"causal", Causal{}},
      {"window(256)", Window{256}},
      {"causal & window(256)", Causal{} & attn::Mask(Window{256})},
      {"padding", Padding{{kTokens - 100}}},
      {"document", Document{documents()}},
      {"causal & document", Causal{} & attn::Mask(Document{documents()})},
  };
}

// Median CPU seconds.
template <typename F>
double seconds(int rounds, F&& call) {
  std::vector<double> took;
  for (int i = 0; i < rounds; ++i) {
    const double start = bench::cpu_seconds();
    call();
    took.push_back(bench::cpu_seconds() - start);
  }
  std::sort(took.begin(), took.end());
  return took[took.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  bench::Problem problem({1, 8, kTokens, 64});
  const attn::Extent extent{1, 8, kTokens, kTokens};
  attn::ThreadPool pool(1);
  std::printf("{\"masks\": [");
  const char* separator = "";
  for (const auto& [name, mask] : masks()) {
    const double plan_s = seconds(quick ? 5 : 51, [&] { attn::TilePlan made(mask, extent); });
    const attn::TilePlan plan(mask, extent);
    attn::Options options;
    options.mask = mask;
    options.plan = &plan;
    const double call_s = seconds(quick ? 1 : 5, [&] { problem.attend(options, pool); });
    std::printf("%s\n  {\"mask\": \"%s\", \"plan_us\": %.1f, \"call_us\": %.1f, \"share\": %.5f}", separator,
                name.c_str(), 1e6 * plan_s, 1e6 * call_s, plan_s / (plan_s + call_s));
    separator = ",";
  }
  std::printf("\n]}\n");
}
