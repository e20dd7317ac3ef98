// tests/nn/nn_golden_test.cc - layers, gradients and AdamW against torch; make_nn.py generates the file.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "nn/infer/activation.h"
#include "nn/infer/embedding.h"
#include "nn/infer/norm.h"
#include "nn/learn/adamw.h"
#include "nn/learn/loss.h"
#include "tests/support/targets.h"

namespace attn::nn {
namespace {

using nlohmann::json;

const json& golden() {
  static const json all = json::parse(std::ifstream(ATTNSCOPE_GOLDEN "/nn.json"));
  return all;
}

// A row or rows of numbers.
Matrix matrix(const json& numbers) {
  const bool flat = !numbers[0].is_array();
  const std::int64_t rows = flat ? 1 : std::ssize(numbers), columns = std::ssize(flat ? numbers : numbers[0]);
  Matrix m(rows, columns);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      m.row(i)[j] = (flat ? numbers : numbers[static_cast<std::size_t>(i)])[static_cast<std::size_t>(j)].get<float>();
  return m;
}

void expect_near(const Matrix& got, const json& want, double tolerance, const char* what) {
  const Matrix numbers = matrix(want);
  ASSERT_EQ(got.rows() * got.columns(), numbers.rows() * numbers.columns()) << what;
  for (std::int64_t n = 0; n < numbers.rows() * numbers.columns(); ++n) {
    EXPECT_NEAR(got.data()[n], numbers.data()[n], tolerance) << what << " " << n;
  }
}

Learned<1> learned_vector(Parameters& parameters, const std::string& name, const json& numbers) {
  const Learned<1> learned = parameters.vector(name, std::ssize(numbers));
  for (std::size_t n = 0; n < numbers.size(); ++n) learned.value.data[n] = numbers[n].get<float>();
  return learned;
}

TEST(NnGolden, ActivationsAndTheirGradients) {
  const std::pair<const char*, Activation> functions[] = {{"relu", Activation::relu},
                                                          {"gelu", Activation::gelu},
                                                          {"gelu_tanh", Activation::gelu_tanh},
                                                          {"silu", Activation::silu},
                                                          {"tanh", Activation::tanh}};
  test::on_every_target([&](const char* target) {
    for (const auto& [name, f] : functions) {
      SCOPED_TRACE(target + std::string(", ") + name);
      const json& plain = golden()["activations"][name]["plain"];
      const json& gated = golden()["activations"][name]["gate"];
      const Matrix x = matrix(plain["x"]), up = matrix(gated["up"]);
      Matrix y(x.rows(), x.columns()), dx = matrix(plain["dy"]), d_gate = matrix(gated["dy"]);
      Matrix d_up(x.rows(), x.columns());
      ThreadPool pool(1);
      activate(x.view(), f, y.view(), pool);
      activate_backward(x.view(), f, dx.view(), pool);
      activate_gate_backward(x.view(), up.view(), f, d_gate.view(), d_up.view(), pool);
      expect_near(y, plain["y"], 2e-6, "y");
      expect_near(dx, plain["d_x"], 5e-6, "dx");
      expect_near(d_gate, gated["d_gate"], 1e-5, "d_gate");
      expect_near(d_up, gated["d_up"], 1e-5, "d_up");
    }
  });
}

TEST(NnGolden, NormsAndTheirGradients) {
  test::on_every_target([](const char* target) {
    for (const char* name : {"layer", "rms"}) {
      SCOPED_TRACE(target + std::string(", ") + name);
      const json& c = golden()["norms"][name];
      Parameters parameters;
      Norm layer;
      layer.weight = learned_vector(parameters, "weight", c["weight"]);
      layer.centered = c.contains("bias");
      if (layer.centered) layer.bias = learned_vector(parameters, "bias", c["bias"]);
      const Matrix x = matrix(c["x"]), dy = matrix(c["dy"]);
      Matrix y(x.rows(), x.columns()), dx(x.rows(), x.columns());
      ThreadPool pool(1);
      norm(layer, x.view(), y.view(), pool);
      norm_backward(layer, {x.view(), dy.view(), dx.view()}, pool);
      expect_near(y, c["y"], 3e-6, "y");
      expect_near(dx, c["d_x"], 3e-6, "dx");
      expect_near(parameters.find("weight")->gradient, c["d_weight"], 3e-6, "d_weight");
      if (layer.centered) expect_near(parameters.find("bias")->gradient, c["d_bias"], 3e-6, "d_bias");
    }
  });
}

TEST(NnGolden, EmbeddingAndItsGradient) {
  const json& c = golden()["embedding"];
  const Matrix table = matrix(c["table"]), dy = matrix(c["dy"]);
  Matrix y(dy.rows(), dy.columns()), gradient(table.rows(), table.columns());
  std::fill_n(gradient.data(), gradient.rows() * gradient.columns(), 0.0F);
  const auto ids = c["ids"].get<std::vector<std::int32_t>>();
  ThreadPool pool(1);
  embed(table.view(), ids, y.view());
  embed_backward(ids, dy.view(), gradient.view(), pool);
  expect_near(y, c["y"], 0, "y");
  expect_near(gradient, c["d_table"], 1e-6, "d_table");
}

TEST(NnGolden, CrossEntropyWithRowsThatDoNotCount) {
  test::on_every_target([](const char* target) {
    SCOPED_TRACE(target);
    const json& c = golden()["cross_entropy"];
    const auto labels = c["labels"].get<std::vector<std::int32_t>>();
    Matrix logits = matrix(c["logits"]);
    ThreadPool pool(1);
    const Loss loss = cross_entropy(logits.view(), labels, 0.25F, pool);
    EXPECT_EQ(loss.counted, 4);
    EXPECT_NEAR(loss.mean(), c["loss"].get<double>(), 1e-6);
    expect_near(logits, c["gradient"], 1e-7, "gradient");
  });
}

TEST(NnGolden, HeadWithItsLoss) {
  test::on_every_target([](const char* target) {
    SCOPED_TRACE(target);
    const json& c = golden()["head"];
    const auto labels = c["labels"].get<std::vector<std::int32_t>>();
    const Matrix x = matrix(c["x"]), w = matrix(c["w"]);
    Parameters parameters;
    Dense head;
    head.w = parameters.matrix("w", w.rows(), w.columns());
    head.b = learned_vector(parameters, "b", c["b"]);
    std::copy_n(w.data(), w.rows() * w.columns(), head.w.value.data);
    Matrix dx(x.rows(), x.columns());
    ThreadPool pool(1);
    const Loss loss = head_loss(head, {x.view(), labels, 1.0F / 6, dx.view()}, pool);
    EXPECT_EQ(loss.counted, 6);
    EXPECT_NEAR(loss.mean(), c["loss"].get<double>(), 1e-6);
    expect_near(dx, c["d_x"], 5e-7, "dx");
    expect_near(parameters.find("w")->gradient, c["d_w"], 5e-7, "dw");
    expect_near(parameters.find("b")->gradient, c["d_b"], 5e-7, "db");
  });
}

// Steps of 1e-3 to 4e-3, right to 1e-6 of themselves. Floats near 1 are 6e-8 apart, to which a step is rounded.
TEST(NnGolden, TenStepsOfAdamWWithAndWithoutDecay) {
  test::on_every_target([](const char* target) {
    ASSERT_EQ(golden()["adamw"].size(), 4U);
    for (const json& c : golden()["adamw"]) {
      SCOPED_TRACE(target + std::string(", decay ") + c["decay"].dump());
      Parameters parameters;
      parameters.matrix("p", 1, std::ssize(c["start"]));
      Parameter& parameter = parameters.all().front();
      parameter.value = matrix(c["start"]);
      AdamW optimiser(parameters, {.decay = c["decay"].get<float>()});
      ThreadPool pool(1);
      for (std::size_t step = 0; step < 10; ++step) {
        parameter.gradient = matrix(c["gradients"][step]);
        optimiser.step(parameters, c["rates"][step].get<float>(), 1, pool);
        expect_near(parameter.value, c["after"][step], 5e-7, "value");
      }
      expect_near(optimiser.moments().front().first, c["first"], 3e-7, "first moment");
      expect_near(optimiser.moments().front().second, c["second"], 1e-8, "second moment");
    }
  });
}

TEST(NnGolden, ClippingByTheNormOfAllGradients) {
  const json& c = golden()["clipping"];
  Parameters parameters;
  for (const json& part : c["gradients"]) {
    const Learned<1> learned = parameters.vector("part " + std::to_string(parameters.all().size()), std::ssize(part));
    for (std::size_t n = 0; n < part.size(); ++n) learned.gradient.data[n] = part[n].get<float>();
  }
  ThreadPool pool(1);
  const double norm = gradient_norm(parameters, pool);
  for (const json& one : c["cases"]) {
    EXPECT_NEAR(norm, one["norm"].get<double>(), 1e-7);
    const float scale = clip_scale(norm, one["most"].get<double>());
    for (std::size_t part = 0; part < parameters.all().size(); ++part) {
      Matrix clipped = matrix(c["gradients"][part]);
      for (std::int64_t n = 0; n < clipped.columns(); ++n) clipped.data()[n] *= scale;
      expect_near(clipped, one["clipped"][part], 1e-6, "clipped");
    }
  }
}

}  // namespace
}  // namespace attn::nn
