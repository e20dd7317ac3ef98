// nn/infer/numpy_random.h - the same random numbers as numpy.random.seed(S) followed by randn or rand, so that a lesson
// shows the numbers of its Python text.
#pragma once

#include <cstdint>
#include <random>

namespace attn::nn {

// numpy's RandomState: MT19937, doubles of 53 bits, normal numbers in pairs by the polar method, the second first.
class NumpyRandom {
 public:
  explicit NumpyRandom(std::uint32_t seed) : bits_(seed) {}

  double uniform();  // [0, 1): rand()
  double normal();   // randn()

 private:
  std::mt19937 bits_;
  double kept_ = 0;
  bool has_kept_ = false;
};

}  // namespace attn::nn
