// bench/engine/gradients.cc - attention and its gradients, called from Python with negligible overhead.
#include <cstdint>
#include <exception>
#include <vector>

#include "attn/attention.h"
#include "attn/backward.h"
#include "attn/thread_pool.h"

namespace {

using Array = attn::View<const float, 4>;

}  // namespace

extern "C" {

// All arrays are dense. [B, H, N, D] and, k and v, [B, G, M, D].
struct BenchGradients {
  std::int64_t b, h, g, n, m, d;
  std::int64_t causal;
  const float *q, *k, *v, *d_out;
  float *out, *dq, *dk, *dv;
};

void* bench_pool_open(int threads) noexcept { return new attn::ThreadPool(threads); }
void bench_pool_close(void* pool) noexcept { delete static_cast<attn::ThreadPool*>(pool); }

// Forward only, as a C++ program calls it; does not use d_out, dq, dk and dv. Returns 0, or -1 on error.
int bench_attention(void* pool, const BenchGradients* t) noexcept {
  try {
    const attn::Shape<4> queries{t->b, t->h, t->n, t->d}, keys{t->b, t->g, t->m, t->d};
    attn::Options options;
    if (t->causal != 0) options.mask = attn::Causal{};
    attn::attention({Array(t->q, queries), Array(t->k, keys), Array(t->v, keys)}, options, {t->out, queries}, {},
                    *static_cast<attn::ThreadPool*>(pool));
    return 0;
  } catch (const std::exception&) {
    return -1;
  }
}

// Forward and backward. Returns 0, or -1 on error.
int bench_gradients(void* pool, const BenchGradients* t) noexcept {
  try {
    const attn::Shape<4> queries{t->b, t->h, t->n, t->d}, keys{t->b, t->g, t->m, t->d};
    std::vector<float> memory(static_cast<std::size_t>(t->b * t->h * t->n));
    const attn::View<float, 3> lse(memory.data(), {t->b, t->h, t->n});
    const attn::Inputs in{Array(t->q, queries), Array(t->k, keys), Array(t->v, keys)};
    attn::Options options;
    if (t->causal != 0) options.mask = attn::Causal{};
    const attn::TilePlan plan(options.mask, {t->b, t->h, t->n, t->m});
    options.plan = &plan;
    auto& threads = *static_cast<attn::ThreadPool*>(pool);
    attn::attention(in, options, {t->out, queries}, lse, threads);
    attn::attention_backward(in, options, {Array(t->out, queries), lse, Array(t->d_out, queries)},
                             {{t->dq, queries}, {t->dk, keys}, {t->dv, keys}, {}, {}}, threads);
    return 0;
  } catch (const std::exception&) {
    return -1;
  }
}

}  // extern "C"
