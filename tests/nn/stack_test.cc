// tests/nn/stack_test.cc - embeddings, stacks of blocks and the whole Transformer: gradients against finite differences
// in double.
#include "nn/learn/stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/nn/learning_support.h"
#include "tests/support/errors.h"
#include "tests/support/rows.h"

namespace attn::nn {
namespace {

using test::add_dense;
using test::argument_error;
using test::GappedRows;
using test::Numbers;
using test::Table;
using testing::HasSubstr;

constexpr std::int64_t kStackWidth = 8, kStackInner = 10, kWords = 9, kPositions = 6, kTypes = 2;
constexpr std::uint64_t kStackPlaces = std::uint64_t{1} << 32;  // the first dropout place of a stack itself

struct Kind {
  bool learned_positions = true, types = false, norm = true, last_norm = false, norm_first = false;
  bool fixed_positions = false, decoder = false;
  std::int64_t first_position = 0, layers = 2;
  float word_scale = 1, dropout = 0;
  std::uint64_t place = 0;
};

// The layers and their textbook version; all names begin with `name`.
class Model {
 public:
  Model(Parameters& to, std::string name, const Kind& kind, std::optional<Learned<2>> words = {})
      : kind_(kind), name_(std::move(name)), fixed_(sinusoidal(kPositions + kind.first_position, kStackWidth)) {
    embedding_.words = words ? *words : to.matrix(name_ + "words", kWords, kStackWidth);
    if (kind.learned_positions)
      embedding_.positions = to.matrix(name_ + "positions", kPositions + kind.first_position, kStackWidth);
    if (kind.fixed_positions) embedding_.fixed = fixed_.view();
    if (kind.types) embedding_.types = to.matrix(name_ + "types", kTypes, kStackWidth);
    if (kind.norm) embedding_.norm = test::add_norm(to, name_ + "embedding_norm", kStackWidth);
    embedding_.first_position = kind.first_position;
    embedding_.word_scale = kind.word_scale;
    embedding_.dropout = kind.dropout;
    for (std::int64_t i = 0; i < kind.layers; ++i) add_block(to, i);
    if (kind.last_norm) last_ = test::add_norm(to, name_ + "last_norm", kStackWidth);
  }

  Stack stack() {
    std::vector<TransformerBlock> blocks;
    for (std::size_t i = 0; i < weights_.size(); ++i) blocks.emplace_back(exact_[i].config, weights_[i]);
    return {embedding_, std::move(blocks), last_, kind_.place};
  }

  [[nodiscard]] Table exact(const Numbers& n, const Tokens& tokens, const LearnPass& pass, const Table& memory = {},
                            std::span<const std::int64_t> memory_starts = {}) const {
    Table x{std::ssize(tokens.ids), kStackWidth};
    const Table& words = n.at(n.contains(name_ + "words") ? name_ + "words" : "words");
    for (std::size_t s = 0; s + 1 < tokens.starts.size(); ++s) {
      for (std::int64_t i = tokens.starts[s]; i < tokens.starts[s + 1]; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const std::int64_t position = kind_.first_position + i - tokens.starts[s];
        const std::int64_t type = tokens.types.empty() ? 0 : tokens.types[at];
        for (std::int64_t j = 0; j < kStackWidth; ++j) {
          double sum = double{kind_.word_scale} * words(tokens.ids[at], j);
          if (kind_.fixed_positions) sum += double{fixed_.row(position)[j]};
          if (kind_.learned_positions && !kind_.fixed_positions) sum += n.at(name_ + "positions")(position, j);
          if (kind_.types) sum += n.at(name_ + "types")(type, j);
          x(i, j) = sum;
        }
      }
    }
    if (embedding_.norm) x = exact_norm(n, name_ + "embedding_norm", x, *embedding_.norm);
    x = exact_drop(x, pass.dropout(kind_.dropout, kStackPlaces + kind_.place));
    for (const test::ExactBlock& block : exact_)
      x = exact_block(n, block, {x, memory, tokens.starts, memory_starts}, pass);
    return last_ ? exact_norm(n, name_ + "last_norm", x, *last_) : x;
  }

 private:
  void add_block(Parameters& to, std::int64_t index) {
    test::ExactBlock& block = exact_.emplace_back();
    block.name = name_ + std::to_string(index) + ".";
    block.cross = kind_.decoder;
    block.config.self = {.width = kStackWidth, .heads = 2, .dropout = kind_.dropout};
    block.config.cross = block.config.self;
    if (kind_.decoder) block.config.self.mask = Causal{};
    block.config.norm_first = kind_.norm_first;
    block.config.dropout = kind_.dropout;
    block.config.place = static_cast<std::uint64_t>(index) + 10 * kind_.place;
    BlockWeights& weights = weights_.emplace_back();
    weights.self = add_attention(to, block.name + "self.", block.config.self);
    weights.self_norm = block.norm = test::add_norm(to, block.name + "self_norm", kStackWidth);
    if (block.cross) {
      weights.cross = add_attention(to, block.name + "cross.", block.config.cross);
      weights.cross_norm = test::add_norm(to, block.name + "cross_norm", kStackWidth);
    }
    weights.feed.up = add_dense(to, block.name + "up", kStackWidth, kStackInner);
    weights.feed.down = add_dense(to, block.name + "down", kStackInner, kStackWidth);
    weights.feed_norm = test::add_norm(to, block.name + "feed_norm", kStackWidth);
  }

  Kind kind_;
  std::string name_;
  Matrix fixed_;
  EmbeddingWeights embedding_;
  std::optional<Norm> last_;
  std::vector<BlockWeights> weights_;
  std::vector<test::ExactBlock> exact_;
};

const std::vector<std::int32_t> kIds = {3, 0, 8, 3, 3, 7, 1, 2, 8, 5};
const std::vector<std::int64_t> kStarts = {0, 3, 4, 10};
const std::vector<std::int32_t> kTokenTypes = {0, 1, 1, 0, 0, 0, 0, 1, 1, 0};

void expect_stack_right(const Kind& kind, bool with_types = false) {
  std::vector<std::vector<float>> bits;  // with one thread
  for (const int threads : {1, 2, 3}) {
    Parameters parameters;
    Model model(parameters, "", kind);
    test::fill(parameters, 0.3F);
    Stack stack = model.stack();
    Tokens tokens{kIds, kStarts};
    if (with_types) tokens.types = kTokenTypes;
    ThreadPool pool(threads);
    Scratch scratch;
    const LearnPass pass{.pool = pool, .scratch = scratch, .training = kind.dropout > 0, .seed = 8};
    const Table y = test::table_of(stack.forward(tokens, pass));
    const GappedRows dy = GappedRows(std::ssize(kIds), kStackWidth).fill(3);
    GappedRows used = dy;
    stack.backward(used.view(), {}, pass);
    std::vector<std::vector<float>> got;
    for (const Parameter& p : parameters.all()) got.emplace_back(p.gradient.data(), p.gradient.data() + p.size());
    if (threads > 1) {
      EXPECT_EQ(got, bits) << threads << " threads";
      continue;
    }
    bits = got;
    const Numbers numbers = test::numbers_of(parameters);
    Numbers gradients;
    test::add_gradients(gradients, parameters);
    EXPECT_LE(test::distance(y, model.exact(numbers, tokens, pass)), 1e-5);
    test::expect_slopes(
        numbers,
        [&](const Numbers& n) { return test::product(test::table_of(dy.view()), model.exact(n, tokens, pass)); },
        gradients);
  }
}

TEST(Stack, GradientsAreRightForEveryKindOfEmbedding) {
  expect_stack_right({.norm = false, .last_norm = true, .norm_first = true});  // like GPT-2
  expect_stack_right({.types = true});                                         // like BERT, where all types are 0
  expect_stack_right({.types = true}, true);
  expect_stack_right({.first_position = 2, .word_scale = 3});  // like BART
}

TEST(Stack, GradientsAreRightWithPositionsThatAreNotLearned) {
  expect_stack_right({.learned_positions = false, .norm = false, .fixed_positions = true, .word_scale = 2});
  expect_stack_right({.learned_positions = false, .norm = false});  // and without any
}

TEST(Stack, GradientsAreRightUnderDropout) {
  expect_stack_right({.types = true, .last_norm = true, .dropout = 0.3F, .place = 1}, true);
}

// The loss of the whole Transformer, whose head is the table of words, in double.
struct ExactTransformer {
  const Model &encoder, &decoder;
  Tokens source, target;
  std::span<const std::int32_t> labels;
  const LearnPass& pass;

  [[nodiscard]] double loss(const Numbers& n) const {
    const Table memory = encoder.exact(n, source, pass);
    const Table hidden = decoder.exact(n, target, pass, memory, source.starts);
    const Table& words = n.at("words");
    double sum = 0, counted = 0;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] == kNoLabel) continue;
      const auto row = static_cast<std::int64_t>(i);
      double all = 0, right = 0;
      for (std::int64_t w = 0; w < kWords; ++w) {
        double logit = 0;
        for (std::int64_t j = 0; j < kStackWidth; ++j) logit += hidden(row, j) * words(w, j);
        all += std::exp(logit);
        if (w == labels[i]) right = logit;
      }
      sum += std::log(all) - right;
      ++counted;
    }
    return sum / counted;
  }
};

// Encoder, decoder and head share the word table; its gradient is the sum of all three.
TEST(Transformer, GradientsAreRightWithWordsThatAllPartsShare) {
  for (const float dropout : {0.0F, 0.2F}) {
    SCOPED_TRACE(dropout);
    Parameters parameters;
    const Learned<2> words = parameters.matrix("words", kWords, kStackWidth);
    Model encoder(parameters, "encoder.", {.layers = 1, .dropout = dropout}, words);
    Model decoder(parameters, "decoder.", {.decoder = true, .dropout = dropout, .place = 1}, words);
    test::fill(parameters, 0.3F);
    Transformer transformer(encoder.stack(), decoder.stack(), Dense{.w = words});
    const std::vector<std::int32_t> source = {4, 4, 1, 0, 8, 2, 7}, target = {2, 5, 2, 1, 1, 6};
    const std::vector<std::int64_t> source_starts = {0, 1, 5, 7}, target_starts = {0, 2, 3, 6};
    const std::vector<std::int32_t> labels = {5, kNoLabel, 1, 0, 8, kNoLabel};
    const Tokens read{source, source_starts}, given{target, target_starts};
    ThreadPool pool(2);
    Scratch scratch;
    const LearnPass pass{.pool = pool, .scratch = scratch, .training = dropout > 0, .seed = 21};
    const Loss loss = transformer.run(read, given, labels, true, pass);

    const ExactTransformer exact{encoder, decoder, read, given, labels, pass};
    const Numbers numbers = test::numbers_of(parameters);
    Numbers gradients;
    test::add_gradients(gradients, parameters);
    EXPECT_EQ(loss.counted, 4);
    EXPECT_NEAR(loss.mean(), exact.loss(numbers), 1e-5);
    test::expect_slopes(numbers, [&](const Numbers& n) { return exact.loss(n); }, gradients);
    EXPECT_EQ(transformer.run(read, given, labels, false, pass).sum, loss.sum);
  }
}

// sin(p / 10000^(2 i / width)) at 2 i and the cosine beside it (Vaswani et al., 2017, section 3.5).
TEST(Sinusoidal, IsTheFormulaOfThePaper) {
  const Matrix table = sinusoidal(50, 6);
  ASSERT_EQ(table.rows(), 50);
  ASSERT_EQ(table.columns(), 6);
  for (std::int64_t j = 0; j < 6; ++j) EXPECT_EQ(table.row(0)[j], j % 2);
  for (const std::int64_t p : {1, 7, 49}) {
    for (std::int64_t i = 0; i < 3; ++i) {
      const double angle = static_cast<double>(p) / std::pow(10000, 2 * static_cast<double>(i) / 6);
      EXPECT_NEAR(table.row(p)[2 * i], std::sin(angle), 1e-7);
      EXPECT_NEAR(table.row(p)[2 * i + 1], std::cos(angle), 1e-7);
    }
  }
  // An odd width ends with a sine.
  EXPECT_NEAR(sinusoidal(3, 5).row(2)[4], std::sin(2 / std::pow(10000, 4.0 / 5)), 1e-7);
}

// By torch 2.15: position = torch.arange(4.).unsqueeze(1); div = torch.exp(torch.arange(0, 4, 2) * (-math.log(1e4) /
// 4))
TEST(Sinusoidal, EqualsTheTorchTutorial) {
  const Matrix table = sinusoidal(4, 4);
  const float want[4][4] = {{0.0F, 1.0F, 0.0F, 1.0F},
                            {0.841470957F, 0.540302336F, 0.00999983307F, 0.999949992F},
                            {0.909297407F, -0.416146845F, 0.0199986659F, 0.999800026F},
                            {0.141120002F, -0.989992499F, 0.0299954992F, 0.999550045F}};
  for (std::int64_t p = 0; p < 4; ++p)
    for (std::int64_t j = 0; j < 4; ++j) EXPECT_NEAR(table.row(p)[j], want[p][j], 1e-7);
}

TEST(Stack, UnknownIdsTypesAndPositionsAreRefused) {
  Parameters parameters;
  Model model(parameters, "", {.types = true, .first_position = 2});
  test::fill(parameters);
  Stack stack = model.stack();
  ThreadPool pool(1);
  Scratch scratch;
  const LearnPass pass{.pool = pool, .scratch = scratch};
  const auto refused = [&](std::vector<std::int32_t> ids, std::vector<std::int32_t> types) {
    const std::vector<std::int64_t> starts = {0, std::ssize(ids)};
    return argument_error([&] { stack.forward({ids, starts, types}, pass); });
  };
  EXPECT_THAT(refused({1, 9}, {}), testing::AllOf(HasSubstr("token 9"), HasSubstr("9 that there are")));
  EXPECT_THAT(refused({-1}, {}), HasSubstr("token -1"));
  EXPECT_THAT(refused({1, 1}, {0, 2}), testing::AllOf(HasSubstr("type 2"), HasSubstr("2 that there are")));
  EXPECT_THAT(refused({1, 1, 1, 1, 1, 1, 1}, {}), testing::AllOf(HasSubstr("7 tokens"), HasSubstr("positions for 6")));
  EXPECT_EQ(refused({1, 1, 1, 1, 1, 1}, {}), "nothing was thrown");
}

}  // namespace
}  // namespace attn::nn
