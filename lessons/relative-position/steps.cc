// Relative positions, in C++.
#include <attn/attn.h>

#include <algorithm>
#include <vector>

#include "../numbers.h"
#include "nn/infer/numpy_random.h"

int main() {
  // [table]
  constexpr int kReach = 32, kHeads = 4;
  std::vector<float> index;
  for (int i = 0; i < 6; ++i)
    for (int j = 0; j < 6; ++j) index.push_back(static_cast<float>(std::clamp(j - i, -kReach, kReach) + kReach));

  // [bias]
  attn::nn::NumpyRandom random(42);
  std::vector<float> table((2 * kReach + 1) * kHeads), x(kHeads * 6 * 8);
  for (float& number : table) number = static_cast<float>(random.normal());
  for (float& number : x) number = static_cast<float>(random.normal() / 2);
  const attn::DistanceBias bias = attn::clamped_relative({table.data(), {2 * kReach + 1, kHeads}}, {6, 6});
  attn::Options options;
  options.bias = bias.view();
  const attn::Shape<4> shape = {1, kHeads, 6, 8};
  const attn::View<const float, 4> view(x.data(), shape);
  std::vector<float> out(x.size()), lse(kHeads * 6), weights(kHeads * 6 * 6);
  attn::ThreadPool pool;
  attn::attention({view, view, view}, options, {out.data(), shape}, {lse.data(), {1, kHeads, 6}},
                  {weights.data(), {1, kHeads, 6, 6}}, pool);

  // [learn]
  const std::vector<float> d_out(out.size(), 1.0F);  // the gradient of the sum of all numbers of out
  std::vector<float> dq(x.size()), dk(x.size()), dv(x.size()), d_bias(kHeads * 11);
  attn::Gradients to{
      .dq = {dq.data(), shape}, .dk = {dk.data(), shape}, .dv = {dv.data(), shape}, .d_bias = {}, .d_sink = {}};
  to.d_bias = {d_bias.data(), {kHeads, 11}};  // by distance, from -5 to 5
  attn::attention_backward(
      {view, view, view}, options,
      {.out = {out.data(), shape}, .lse = {lse.data(), {1, kHeads, 6}}, .d_out = {d_out.data(), shape}}, to, pool);

  // [t5]
  std::vector<float> buckets;
  for (const int distance : {-200, -128, -64, -16, -8, -7, -1, 0, 1, 7, 8, 16, 64, 128, 200})
    buckets.push_back(static_cast<float>(attn::t5_bucket(distance, {})));

  // [alibi]
  const std::vector<float> slopes = attn::alibi_slopes(kHeads);

  // []
  float total = 0;
  for (const float number : d_bias) total += number;  // more for one distance is less for the others
  lesson::print({{"index", {6, 6}, index},
                 {"biased_weights", {kHeads, 6, 6}, weights},
                 {"t5_buckets", {15, 1}, buckets},
                 {"slopes", {kHeads}, slopes}});
  return std::abs(total) < 1e-4F ? 0 : 1;
}
