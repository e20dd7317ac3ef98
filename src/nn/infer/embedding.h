// nn/infer/embedding.h - looks up rows of a table, and adds gradients to them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attn/thread_pool.h"
#include "attn/view.h"

namespace attn::nn {

// out[i] = table[ids[i]], as floats; add_embedded adds to out instead. The caller must have checked the ids.
void embed(const AnyView<2>& table, std::span<const std::int32_t> ids, View<float, 2> out);
void add_embedded(const AnyView<2>& table, std::span<const std::int32_t> ids, View<float, 2> out);

// gradient[ids[i]] += d_out[i], in the order of i: the same bits for any number of threads.
void embed_backward(std::span<const std::int32_t> ids, View<const float, 2> d_out, View<float, 2> gradient,
                    ThreadPool& pool);

// Converts numbers of any type to floats.
std::vector<float> as_floats(const AnyView<1>& x);

}  // namespace attn::nn
