// tests/engine/backward/backward_bad_input_test.cc - what attention_backward() refuses: the exception, its message, and
// that nothing has been written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "attn/backward.h"
#include "tests/engine/backward/backward_support.h"
#include "tests/support/problem.h"

namespace attn::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A valid call, of which a test invalidates one argument.
struct BackwardCall {
  static constexpr Sizes kSizes{2, 4, 2, 5, 7, 16, 24};

  BackwardCall() : p(make()), r(kSizes), d_out(random_d_out(p)), g(p), in(p.inputs()), to(g.to()) {
    const Results& read = r;
    outputs = {read.out.floats(), read.lse_view(), d_out.floats()};
  }
  static Problem make() {
    Problem p = plain_problem(kSizes);
    p.give_bias(1, true);
    p.give_sink(2);
    return p;
  }

  Problem p;
  Results r;
  Tensor d_out;
  GradientTensors g;
  Inputs in;
  Gradients to;
  Outputs outputs;
};

std::string refused(BackwardCall& c) {
  ThreadPool pool(1);
  std::string message;
  try {
    attention_backward(c.in, c.p.options, c.outputs, c.to, pool);
    ADD_FAILURE() << "threw nothing";
  } catch (const std::invalid_argument& error) {
    message = error.what();
  }
  EXPECT_TRUE(c.g.untouched()) << "something was written before the exception";
  EXPECT_EQ(message.find('\n'), std::string::npos);
  return message;
}

TEST(BackwardBadInput, ValidCallIsAccepted) {
  BackwardCall c;
  ThreadPool pool(1);
  c.r.out.fill_with(0);
  c.r.lse.fill_with(0);
  EXPECT_NO_THROW(attention_backward(c.in, c.p.options, c.outputs, c.to, pool));
  EXPECT_FALSE(c.g.untouched());
}

struct ShortenedAxis {
  const char* name;
  std::size_t axis;
};

class BackwardWrongAxis : public testing::TestWithParam<ShortenedAxis> {};

TEST_P(BackwardWrongAxis, IsRefusedAndTheMessageHasBothNumbers) {
  const auto [name, axis] = GetParam();
  BackwardCall c;
  std::int64_t right = 0;
  const auto spoil = [&, at = axis](auto& view) { right = view.shape[at]--; };
  const std::string which = name;
  if (which == "q") spoil(c.in.q);
  if (which == "k") spoil(c.in.k);
  if (which == "v") spoil(c.in.v);
  if (which == "out") spoil(c.outputs.out);
  if (which == "lse") spoil(c.outputs.lse);
  if (which == "d_out") spoil(c.outputs.d_out);
  if (which == "dq") spoil(c.to.dq);
  if (which == "dk") spoil(c.to.dk);
  if (which == "dv") spoil(c.to.dv);
  if (which == "d_bias") spoil(c.to.d_bias);
  if (which == "d_sink") spoil(c.to.d_sink);
  EXPECT_THAT(refused(c), AllOf(HasSubstr(std::to_string(right)), HasSubstr(std::to_string(right - 1))));
}
INSTANTIATE_TEST_SUITE_P(Every, BackwardWrongAxis,
                         testing::Values(ShortenedAxis{"q", 0}, ShortenedAxis{"q", 2}, ShortenedAxis{"q", 3},
                                         ShortenedAxis{"k", 0}, ShortenedAxis{"k", 2}, ShortenedAxis{"v", 1},
                                         ShortenedAxis{"v", 3}, ShortenedAxis{"out", 0}, ShortenedAxis{"out", 1},
                                         ShortenedAxis{"out", 2}, ShortenedAxis{"out", 3}, ShortenedAxis{"lse", 0},
                                         ShortenedAxis{"lse", 1}, ShortenedAxis{"lse", 2}, ShortenedAxis{"d_out", 1},
                                         ShortenedAxis{"d_out", 2}, ShortenedAxis{"d_out", 3}, ShortenedAxis{"dq", 1},
                                         ShortenedAxis{"dq", 2}, ShortenedAxis{"dq", 3}, ShortenedAxis{"dk", 1},
                                         ShortenedAxis{"dk", 2}, ShortenedAxis{"dk", 3}, ShortenedAxis{"dv", 1},
                                         ShortenedAxis{"dv", 2}, ShortenedAxis{"dv", 3}, ShortenedAxis{"d_bias", 0},
                                         ShortenedAxis{"d_bias", 1}, ShortenedAxis{"d_sink", 0}),
                         [](const auto& test) { return test.param.name + std::to_string(test.param.axis); });

TEST(BackwardBadInput, GradientOfADenseBiasNeedsADenseBiasOfTheSameShape) {
  BackwardCall none;
  Tensor room({1, 1, 1, 1});
  none.to.d_dense_bias = room.floats();
  EXPECT_THAT(refused(none), HasSubstr("there is no dense bias"));
  BackwardCall other;
  other.p.give_dense_bias(9, {1, 1, other.p.sizes.N, other.p.sizes.M});
  other.to.d_dense_bias = room.floats();
  EXPECT_THAT(refused(other), HasSubstr("d_dense_bias"));
}

TEST(BackwardBadInput, MissingArraysAreNamed) {
  const auto without = [](auto spoil) {
    BackwardCall c;
    spoil(c);
    return refused(c);
  };
  EXPECT_THAT(without([](BackwardCall& c) { c.outputs.d_out.data = nullptr; }), HasSubstr("d_out is missing"));
  EXPECT_THAT(without([](BackwardCall& c) { c.outputs.out.data = nullptr; }), HasSubstr("out is missing"));
  EXPECT_THAT(without([](BackwardCall& c) { c.outputs.lse.data = nullptr; }), HasSubstr("lse is missing"));
  EXPECT_THAT(without([](BackwardCall& c) { c.to.dq.data = nullptr; }), HasSubstr("dq is missing"));
  EXPECT_THAT(without([](BackwardCall& c) { c.to.dk.data = nullptr; }), HasSubstr("dk is missing"));
  EXPECT_THAT(without([](BackwardCall& c) { c.to.dv.data = nullptr; }), HasSubstr("dv is missing"));
}

TEST(BackwardBadInput, GradientOfLseMustHaveItsShape) {
  BackwardCall c;
  c.outputs.d_lse = c.outputs.lse;
  c.outputs.d_lse.shape[2] = 6;
  EXPECT_THAT(refused(c), AllOf(HasSubstr("d_lse"), HasSubstr("6"), HasSubstr("5")));
}

TEST(BackwardBadInput, LastAxisMustBeDense) {
  BackwardCall c;
  c.to.dk.strides[3] = 2;
  EXPECT_THAT(refused(c), AllOf(HasSubstr("dk"), HasSubstr("dense")));
  BackwardCall d;
  d.outputs.d_out.strides[3] = 2;
  EXPECT_THAT(refused(d), AllOf(HasSubstr("d_out"), HasSubstr("dense")));
}

TEST(BackwardBadInput, GradientsOfMissingOptionsAreRefused) {
  BackwardCall c;
  c.p.options.bias = {};
  EXPECT_THAT(refused(c), HasSubstr("no bias"));
  BackwardCall d;
  d.p.options.sink = {};
  EXPECT_THAT(refused(d), HasSubstr("no sink"));
}

TEST(BackwardBadInput, OptionsAreCheckedAsInTheForwardPass) {
  BackwardCall c;
  c.p.options.dropout.rate = 1;
  EXPECT_THAT(refused(c), HasSubstr("dropout"));
  BackwardCall d;
  d.p.options.mask = Padding{{1, 2, 3}};
  EXPECT_NE(refused(d), "");
}

}  // namespace
}  // namespace attn::test
