// bench/engine/latency.h - wall time of single calls.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace bench {

struct Latency {
  double median_us = 0;
  double p90_us = 0;  // nine of ten calls are faster
};

template <typename F>
double microseconds(F&& call) {
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

template <typename F>
Latency latency(int calls, F&& call) {
  std::vector<double> took;
  took.reserve(static_cast<std::size_t>(calls));
  for (int i = 0; i < calls / 10; ++i) call();  // warms up caches and helpers
  for (int i = 0; i < calls; ++i) took.push_back(microseconds(call));
  std::sort(took.begin(), took.end());
  return {took[took.size() / 2], took[took.size() * 9 / 10]};
}

}  // namespace bench
