#include "bench/wasm/calls.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attn/attention.h"
#include "attn/mask.h"
#include "attn/thread_pool.h"
#include "nn/infer/linear.h"

namespace {

using Floats = std::vector<float>;

// Nearly normal, of variance 1. The standard library's distributions differ from library to library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15U + 1) {}
  float operator()() {
    std::int32_t sum = -2 * 0xFFFF;
    for (int n = 0; n < 4; ++n) sum += static_cast<std::int32_t>(next() >> 48U);
    return static_cast<float>(sum) * (1.7320508F / 65536);
  }

 private:
  std::uint64_t next() {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return state_;
  }
  std::uint64_t state_;
};

Floats random_floats(std::int64_t count, std::uint64_t seed, float scale = 1) {
  Random random(seed);
  Floats x(static_cast<std::size_t>(count));
  for (float& value : x) value = scale * random();
  return x;
}

// Numbers of one of the three types.
class Numbers {
 public:
  Numbers(Floats from, const std::string& type) : floats_(std::move(from)) {
    if (type == "half" || type == "wild") {
      for (const float x : floats_) halves_.push_back(attn::to_half(x));
    } else if (type == "bfloat") {
      for (const float x : floats_) bfloats_.push_back(attn::to_bfloat(x));
    }
  }
  template <std::size_t Rank>
  [[nodiscard]] attn::AnyView<Rank> view(const attn::Shape<Rank>& shape) const {
    if (!halves_.empty()) return attn::View<const attn::Half, Rank>(halves_.data(), shape);
    if (!bfloats_.empty()) return attn::View<const attn::Bfloat, Rank>(bfloats_.data(), shape);
    return attn::View<const float, Rank>(floats_.data(), shape);
  }

 private:
  Floats floats_;
  std::vector<attn::Half> halves_;
  std::vector<attn::Bfloat> bfloats_;
};

class Work {
 public:
  Work() = default;
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;
  virtual ~Work() = default;
  virtual void run() = 0;

  Floats result;
};

attn::ThreadPool& pool() {
  static attn::ThreadPool one(1);
  return one;
}

class Attention : public Work {
 public:
  Attention(const attn::Shape<4>& shape, const std::string& type, float softcap, const attn::Mask& mask)
      : shape_(shape),
        q_(random_floats(size(), 1), "float"),
        k_(random_floats(size(), 2), type),
        v_(values(type), type) {
    options_.mask = mask;
    options_.softcap = softcap;
    result.resize(static_cast<std::size_t>(size() + rows()));
  }
  void run() override {
    const attn::Inputs in{q_.view(shape_), k_.view(shape_), v_.view(shape_)};
    attn::attention(in, options_, {result.data(), shape_}, {result.data() + size(), {shape_[0], shape_[1], shape_[2]}},
                    pool());
  }

 private:
  [[nodiscard]] std::int64_t rows() const { return shape_[0] * shape_[1] * shape_[2]; }
  [[nodiscard]] std::int64_t size() const { return rows() * shape_[3]; }
  [[nodiscard]] Floats values(const std::string& type) const {
    Floats v = random_floats(size(), 3);
    if (type == "wild") {
      v[v.size() / 3] = std::numeric_limits<float>::infinity();
      v[v.size() / 2] = std::numeric_limits<float>::quiet_NaN();
    }
    return v;
  }

  attn::Shape<4> shape_;
  Numbers q_, k_, v_;
  attn::Options options_;
};

class Product : public Work {
 public:
  Product(std::int64_t rows, const attn::Shape<2>& weights, const std::string& type, attn::nn::Activation function)
      : x_shape_{rows, weights[1]}, y_shape_{rows, weights[0]}, x_(random_floats(rows * weights[1], 1)) {
    const float scale = 1 / std::sqrt(static_cast<float>(weights[1]));
    const Numbers matrix(random_floats(weights[0] * weights[1], 2, scale), type);
    const Floats bias = random_floats(weights[0], 3);
    linear_ = attn::nn::Linear({{matrix.view(weights), attn::View<const float, 1>(bias.data(), {weights[0]})}}, pool());
    after_.activation = function;
    result.resize(static_cast<std::size_t>(rows * weights[0]));
  }
  void run() override {
    linear_(attn::View<const float, 2>(x_.data(), x_shape_), attn::View<float, 2>(result.data(), y_shape_), pool(),
            after_);
  }

 private:
  attn::Shape<2> x_shape_, y_shape_;
  Floats x_;
  attn::nn::Linear linear_;
  attn::nn::After after_;
};

std::vector<std::unique_ptr<Work>> works;
std::array<char, kBenchText> text;

std::unique_ptr<Work> make(const char* from) {
  int b = 0, h = 0, n = 0, d = 0, mask_at = 0;
  float softcap = 0;
  std::array<char, 16> type{}, function{};
  if (std::sscanf(from, "attention %d %d %d %d %15s %f %n", &b, &h, &n, &d, type.data(), &softcap, &mask_at) == 6) {
    return std::make_unique<Attention>(attn::Shape<4>{b, h, n, d}, type.data(), softcap,
                                       attn::parse_mask(from + mask_at));
  }
  if (std::sscanf(from, "product %d %d %d %15s %15s", &n, &d, &h, type.data(), function.data()) == 5) {
    const std::string name = function.data();
    const auto applied = name == "gelu"   ? attn::nn::Activation::gelu
                         : name == "tanh" ? attn::nn::Activation::tanh
                                          : attn::nn::Activation::none;
    return std::make_unique<Product>(n, attn::Shape<2>{h, d}, type.data(), applied);
  }
  return nullptr;
}

Work& at(int work) { return *works[static_cast<std::size_t>(work)]; }

}  // namespace

char* bench_text() { return text.data(); }

int bench_make() {
  auto made = make(text.data());
  if (made == nullptr) return -1;
  works.push_back(std::move(made));
  return static_cast<int>(works.size()) - 1;
}

void bench_run(int work, int count) {
  for (int n = 0; n < count; ++n) at(work).run();
}

std::size_t bench_result_size(int work) { return at(work).result.size(); }
const float* bench_result(int work) { return at(work).result.data(); }
