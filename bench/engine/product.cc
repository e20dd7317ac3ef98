// bench/engine/product.cc - products of model layers: ours, OpenBLAS and oneDNN, on the shapes of BERT-base.
//
// Prints JSON: median microseconds per call, CPU time with one thread, wall time with two. The other libraries run
// single-threaded inside our pool, with half of the outputs per thread; oneDNN gets its weights in the layout it
// prefers. Every call uses the next of so many copies of the weights that they take 340 MB, the size of all layers of
// BERT-base. So weights come from memory, as in a layer of a model. "read" is the time to read the weights and nothing
// else. Contenders take turns, call by call.

#include <cblas.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dnnl.hpp>
#include <memory>
#include <string>
#include <vector>

#include "attn/thread_pool.h"
#include "bench/engine/cpu_clock.h"
#include "bench/engine/latency.h"
#include "bench/engine/probe.h"
#include "nn/infer/linear.h"

namespace {

struct Sizes {
  std::int64_t rows = 0, in = 0, out = 0;
};

// The input of all contenders.
struct Layer {
  Sizes sizes;
  attn::nn::Matrix x, y, weights;
  std::vector<float> bias;

  explicit Layer(const Sizes& s)
      : sizes(s), x(s.rows, s.in), y(s.rows, s.out), weights(s.out, s.in), bias(static_cast<std::size_t>(s.out), 0.5F) {
    for (std::int64_t n = 0; n < s.rows * s.in; ++n) x.data()[n] = static_cast<float>(n % 17 - 8) / 16;
    for (std::int64_t n = 0; n < s.out * s.in; ++n) weights.data()[n] = static_cast<float>(n % 13 - 6) / 64;
    std::fill_n(y.data(), s.rows * s.out, 0.0F);
  }
  [[nodiscard]] std::int64_t weight_bytes() const { return sizes.in * sizes.out * std::int64_t{sizeof(float)}; }
};

class Contender {
 public:
  virtual ~Contender() = default;
  virtual void run(std::size_t copy, attn::ThreadPool& pool) = 0;
};

class Ours : public Contender {
 public:
  Ours(Layer& layer, std::size_t copies, attn::ThreadPool& pool) : layer_(layer) {
    const attn::View<const float, 1> bias(layer.bias.data(), {layer.sizes.out});
    const auto& weights = layer.weights;
    for (std::size_t n = 0; n < copies; ++n) linears_.push_back({{{weights.view(), bias}}, pool});
  }
  void run(std::size_t copy, attn::ThreadPool& pool) override {
    linears_[copy](layer_.x.view(), layer_.y.view(), pool);
  }

 private:
  Layer& layer_;
  std::vector<attn::nn::Linear> linears_;
};

// Columns of the result that part t of `parts` computes.
struct Columns {
  std::int64_t first, count;
  Columns(std::int64_t all, std::int64_t t, std::int64_t parts)
      : first(all * t / parts), count(all * (t + 1) / parts - first) {}
};

// Without the bias, which OpenBLAS does not support.
class OpenBlas : public Contender {
 public:
  OpenBlas(Layer& layer, std::size_t copies) : layer_(layer) {
    openblas_set_num_threads(1);
    for (std::size_t n = 0; n < copies; ++n) {
      std::memcpy(weights_.emplace_back(layer.sizes.out, layer.sizes.in).data(), layer.weights.data(),
                  static_cast<std::size_t>(layer.weight_bytes()));
    }
  }
  void run(std::size_t copy, attn::ThreadPool& pool) override {
    const Sizes& s = layer_.sizes;
    pool.run(pool.threads(), [&](std::int64_t t, int) {
      const Columns part(s.out, t, pool.threads());
      const float* w = weights_[copy].row(part.first);
      const auto in = static_cast<int>(s.in), out = static_cast<int>(s.out), count = static_cast<int>(part.count);
      float* y = layer_.y.data() + part.first;
      if (s.rows == 1) {
        cblas_sgemv(CblasRowMajor, CblasNoTrans, count, in, 1, w, in, layer_.x.data(), 1, 0, y, 1);
      } else {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(s.rows), count, in, 1, layer_.x.data(),
                    in, w, in, 0, y, out);
      }
    });
  }

 private:
  Layer& layer_;
  std::vector<attn::nn::Matrix> weights_;
};

// One inner product per thread; with two threads each has its own result, because oneDNN writes dense rows only.
class OneDnn : public Contender {
 public:
  OneDnn(Layer& layer, std::size_t copies, std::int64_t parts) : layer_(layer) {
    for (std::int64_t t = 0; t < parts; ++t) parts_.push_back(make_part(Columns(layer.sizes.out, t, parts), copies));
  }
  void run(std::size_t copy, attn::ThreadPool& pool) override {
    pool.run(std::ssize(parts_), [&](std::int64_t t, int) {
      Part& part = parts_[static_cast<std::size_t>(t)];
      part.product.execute(part.stream, {{DNNL_ARG_SRC, part.x},
                                         {DNNL_ARG_WEIGHTS, part.weights[copy]},
                                         {DNNL_ARG_BIAS, part.bias},
                                         {DNNL_ARG_DST, part.y}});
      part.stream.wait();
    });
  }

 private:
  struct Part {
    dnnl::inner_product_forward product;
    dnnl::stream stream;
    dnnl::memory x, bias, y;
    std::vector<attn::nn::AlignedMemory> bytes;
    std::vector<dnnl::memory> weights;
  };

  Part make_part(const Columns& columns, std::size_t copies) {
    using dnnl::memory;
    const Sizes& s = layer_.sizes;
    constexpr auto kType = memory::data_type::f32;
    constexpr auto kPlain = memory::format_tag::ab;
    const memory::desc x({s.rows, s.in}, kType, kPlain), y({s.rows, columns.count}, kType, kPlain);
    const memory::desc bias({columns.count}, kType, memory::format_tag::a);
    const memory::desc any({columns.count, s.in}, kType, memory::format_tag::any);
    const dnnl::inner_product_forward::primitive_desc chosen(
        dnnl::inner_product_forward::desc(dnnl::prop_kind::forward_inference, x, any, bias, y), engine_);
    Part part;
    part.product = dnnl::inner_product_forward(chosen);
    part.stream = dnnl::stream(engine_);
    part.x = memory(x, engine_, layer_.x.data());
    part.bias = memory(bias, engine_, layer_.bias.data() + columns.first);
    part.y = memory(y, engine_);
    memory plain({{columns.count, s.in}, kType, kPlain}, engine_, layer_.weights.row(columns.first));
    for (std::size_t n = 0; n < copies; ++n) {
      const auto bytes = static_cast<std::int64_t>(chosen.weights_desc().get_size());
      part.bytes.emplace_back(bytes);
      part.weights.emplace_back(chosen.weights_desc(), engine_, part.bytes.back().data());
      dnnl::reorder(plain, part.weights.back()).execute(part.stream, plain, part.weights.back());
      part.stream.wait();
    }
    return part;
  }

  Layer& layer_;
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  std::vector<Part> parts_;
};

class PlainRead : public Contender {
 public:
  PlainRead(const Layer& layer, std::size_t copies) : bytes_(layer.weight_bytes()) {
    for (std::size_t n = 0; n < copies; ++n) std::memset(copies_.emplace_back(bytes_).data(), 1, std::size_t(bytes_));
  }
  void run(std::size_t copy, attn::ThreadPool& pool) override {
    pool.run(pool.threads(), [&](std::int64_t t, int) {
      const Columns part(bytes_ / 64, t, pool.threads());
      sink_[t] = bench_plain_read(copies_[copy].data() + part.first * 64, static_cast<std::size_t>(part.count) * 64);
    });
  }

 private:
  std::int64_t bytes_;
  std::vector<attn::nn::AlignedMemory> copies_;
  std::array<unsigned, 2> sink_{};
};

struct Named {
  const char* name;
  std::unique_ptr<Contender> contender;
  std::vector<double> took = {};
};

void measure(const Sizes& sizes, int threads, bool quick, bool last) {
  constexpr std::int64_t kAllLayers = std::int64_t{340} << 20;
  Layer layer(sizes);
  attn::ThreadPool pool(threads);
  const auto copies = static_cast<std::size_t>((kAllLayers + layer.weight_bytes() - 1) / layer.weight_bytes());
  std::vector<Named> all;
  all.push_back({"attnscope", std::make_unique<Ours>(layer, copies, pool)});
  all.push_back({"openblas", std::make_unique<OpenBlas>(layer, copies)});
  all.push_back({"onednn", std::make_unique<OneDnn>(layer, copies, threads)});
  all.push_back({"read", std::make_unique<PlainRead>(layer, copies)});
  const double work = 2.0 * static_cast<double>(sizes.rows * sizes.in) * static_cast<double>(sizes.out);
  const int calls = static_cast<int>(std::clamp((quick ? 2e9 : 2e10) / work, quick ? 8.0 : 40.0, quick ? 40.0 : 400.0));
  std::size_t copy = 0;
  for (int n = -4; n < calls; ++n, copy = (copy + 1) % copies) {
    for (Named& c : all) {
      const double start = bench::cpu_seconds();
      const double wall = bench::microseconds([&] { c.contender->run(copy, pool); });
      const double us = threads == 1 ? 1e6 * (bench::cpu_seconds() - start) : wall;
      if (n >= 0) c.took.push_back(us);
    }
  }
  std::printf("  {\"rows\": %d, \"in\": %d, \"out\": %d, \"threads\": %d, \"us\": {", static_cast<int>(sizes.rows),
              static_cast<int>(sizes.in), static_cast<int>(sizes.out), threads);
  for (Named& c : all) {
    std::nth_element(c.took.begin(), c.took.begin() + std::ssize(c.took) / 2, c.took.end());
    std::printf("%s\"%s\": %.1f", &c == all.data() ? "" : ", ", c.name, c.took[c.took.size() / 2]);
  }
  std::printf("}}%s\n", last ? "" : ",");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (std::getenv("OMP_NUM_THREADS") == nullptr) {  // both variables are read when the program is loaded
    setenv("OMP_NUM_THREADS", "1", 1);              // oneDNN runs in our threads
    // OpenBLAS 0.3.21 does not know newer CPUs and uses kernels of 2004 for them.
    if (__builtin_cpu_supports("avx512f")) setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
    execv("/proc/self/exe", argv);
  }
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  constexpr std::array<std::int64_t, 4> kRows = {1, 16, 128, 512};
  constexpr std::array<std::array<std::int64_t, 2>, 4> kShapes = {{{768, 2304}, {768, 768}, {768, 3072}, {3072, 768}}};
  std::printf("{\"products\": [\n");
  for (const int threads : {1, 2}) {
    for (const std::int64_t rows : kRows) {
      for (const auto& [in, out] : kShapes) {
        measure({rows, in, out}, threads, quick, threads == 2 && rows == kRows.back() && in == kShapes.back()[0]);
      }
    }
  }
  std::printf("]}\n");
}
