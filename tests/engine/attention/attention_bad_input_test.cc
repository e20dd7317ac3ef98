// tests/engine/attention/attention_bad_input_test.cc - what attention() refuses: the exception, its message, and that
// nothing has been written. Also sizes that are unusual but valid.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "attn/attention.h"
#include "tests/support/numbers.h"
#include "tests/support/problem.h"

namespace attn::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A valid call, of which a test invalidates one argument.
struct ForwardCall {
  static constexpr Sizes kSizes{2, 4, 2, 5, 7, 16, 24};

  ForwardCall() : p(plain_problem(kSizes)), results(kSizes, true), in(p.inputs()) {
    out = results.out.floats();
    lse = results.lse_view();
  }

  Problem p;
  Results results;
  Inputs in;
  View<float, 4> out;
  View<float, 3> lse;
};

// The message of the std::invalid_argument that f throws. Otherwise fails the test and returns "".
std::string refusal(const std::function<void()>& f) {
  try {
    f();
  } catch (const std::invalid_argument& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "threw something else: " << error.what();
    return "";
  }
  ADD_FAILURE() << "threw nothing";
  return "";
}

// Makes the call, which every overload of attention() must refuse without writing any result.
std::string refused(ForwardCall& c) {
  ThreadPool pool(1);
  const std::string message = refusal([&] { attention(c.in, c.p.options, c.out, c.lse, pool); });
  refusal([&] { attention(c.in, c.p.options, c.out, c.lse, c.results.weights_view(), pool); });
  EXPECT_TRUE(c.results.untouched()) << "something was written before the exception";
  return message;
}

testing::Matcher<std::string> has(const std::vector<std::int64_t>& numbers) {
  std::vector<testing::Matcher<std::string>> all;
  for (const std::int64_t n : numbers)
    all.push_back(testing::ContainsRegex("(^|[^0-9])" + std::to_string(n) + "([^0-9]|$)"));
  return testing::AllOfArray(all);
}

TEST(BadInput, ValidCallIsAccepted) {
  ForwardCall c;
  ThreadPool pool(1);
  EXPECT_NO_THROW(attention(c.in, c.p.options, c.out, c.lse, pool));
  EXPECT_FALSE(c.results.untouched());
}

struct SpoiledAxis {
  const char* name;
  std::size_t axis;
  std::int64_t value;
};

class WrongAxis : public testing::TestWithParam<SpoiledAxis> {};

// Each axis of each array in turn. Sizes are smaller than the right ones, so that nothing is read out of bounds even if
// the check were missing.
TEST_P(WrongAxis, IsRefusedAndTheMessageHasTheNumber) {
  const auto [name, axis, value] = GetParam();
  ForwardCall c;
  const std::string which = name;
  std::int64_t right = 0;
  const auto spoil = [&](auto& view) {
    right = view.shape[axis];
    view.shape[axis] = value;
  };
  if (which == "q") spoil(c.in.q);
  if (which == "k") spoil(c.in.k);
  if (which == "v") spoil(c.in.v);
  if (which == "out") spoil(c.out);
  if (which == "lse") spoil(c.lse);
  const std::string message = refused(c);
  EXPECT_THAT(message, has({value}));
  EXPECT_THAT(message, has({right}));
}
INSTANTIATE_TEST_SUITE_P(Every, WrongAxis,
                         testing::Values(SpoiledAxis{"q", 0, 1}, SpoiledAxis{"q", 1, 2}, SpoiledAxis{"q", 2, 3},
                                         SpoiledAxis{"q", 3, 15}, SpoiledAxis{"k", 0, 1}, SpoiledAxis{"k", 1, 1},
                                         SpoiledAxis{"k", 2, 6}, SpoiledAxis{"k", 3, 15}, SpoiledAxis{"v", 0, 1},
                                         SpoiledAxis{"v", 1, 1}, SpoiledAxis{"v", 2, 6}, SpoiledAxis{"out", 0, 1},
                                         SpoiledAxis{"out", 1, 3}, SpoiledAxis{"out", 2, 4}, SpoiledAxis{"out", 3, 23},
                                         SpoiledAxis{"lse", 0, 1}, SpoiledAxis{"lse", 1, 3}, SpoiledAxis{"lse", 2, 4}),
                         [](const auto& test) { return test.param.name + std::to_string(test.param.axis); });

TEST(BadInput, HeadsThatDoNotDivideAreNamed) {
  Problem p = plain_problem({1, 7, 3, 5, 7, 8, 8});
  Results r(p.sizes);
  ThreadPool pool(1);
  EXPECT_THAT(refusal([&] { attention(p.inputs(), {}, r.out.floats(), r.lse_view(), pool); }), has({7, 3}));
  EXPECT_TRUE(r.untouched());
}

TEST(BadInput, NegativeSizesAndNoKeyHeadsAreRefused) {
  for (const std::size_t axis : {0U, 1U, 2U, 3U}) {
    SCOPED_TRACE(axis);
    ForwardCall c;
    c.in.q.shape[axis] = c.in.k.shape[axis] = c.in.v.shape[axis] = c.out.shape[axis] = -1;
    if (axis < 3) c.lse.shape[axis] = -1;
    EXPECT_THAT(refused(c), HasSubstr("-1"));
  }
  ForwardCall c;
  c.in.k.shape[1] = c.in.v.shape[1] = 0;
  EXPECT_THAT(refused(c), has({4, 0}));
}

TEST(BadInput, WidthsOutsideOneTo512AreRefused) {
  for (const auto& [d, e] : std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 8}, {8, 0}, {513, 8}, {8, 513}}) {
    SCOPED_TRACE(std::to_string(d) + " " + std::to_string(e));
    Problem p = plain_problem({1, 1, 1, 3, 4, d, e});
    // An array without elements may still have an address.
    float nothing = 0;
    Inputs in = p.inputs();
    for (AnyView<4>* view : {&in.q, &in.k, &in.v})
      if (view->data == nullptr) view->data = &nothing;
    Results r(p.sizes);
    View<float, 4> out = r.out.floats();
    if (out.data == nullptr) out.data = &nothing;
    ThreadPool pool(1);
    const std::string message = refusal([&] { attention(in, {}, out, r.lse_view(), pool); });
    EXPECT_THAT(message, AllOf(has({d == 8 ? e : d}), has({512})));
    EXPECT_TRUE(r.untouched());
  }
}

TEST(BadInput, NoQueriesGiveAnEmptyResult) {
  for (const Sizes& s : {Sizes{2, 2, 1, 0, 7, 8, 8}, Sizes{0, 2, 1, 5, 7, 8, 8}, Sizes{2, 2, 1, 0, 0, 8, 8}}) {
    SCOPED_TRACE(s.text());
    const Problem p = plain_problem(s);
    for (const bool with_weights : {false, true}) EXPECT_NO_THROW(run(p, 1, with_weights));
    Problem causal = plain_problem(s);
    causal.options.mask = Causal{};
    EXPECT_NO_THROW(run(causal, 2));
  }
}

TEST(BadInput, NoKeysGiveZerosAndMinusInfinity) {
  for (const std::int64_t n : {1, 5, 70}) {
    Problem p = plain_problem({2, 2, 1, n, 0, 8, 8});
    Results r = run(p);
    each(r.out.shape(), [&](const Shape<4>& at) { EXPECT_EQ(r.out.get(at), 0); });
    each(r.lse.shape(), [&](const Shape<4>& at) { EXPECT_EQ(r.lse.get(at), -kInfinity); });
    p.give_sink(5);
    r = run(p);
    each(r.lse.shape(), [&](const Shape<4>& at) { EXPECT_EQ(r.lse.get(at), p.sink[at[2]]); });
  }
}

TEST(BadInput, MaskOfAnotherSizeIsRefused) {
  const std::vector<std::uint8_t> bits(2 * 4 * 5 * 7, 1);
  const auto mask_of = [&](const Shape<4>& shape) { return table(View<const std::uint8_t, 4>(bits.data(), shape)); };
  for (const Shape<4>& shape : {Shape<4>{1, 1, 5, 6}, {1, 1, 4, 7}, {1, 3, 5, 7}, {2, 1, 5, 3}}) {
    ForwardCall c;
    c.p.options.mask = mask_of(shape);
    EXPECT_THAT(refused(c), AllOf(has({5, 7}), has({shape[2], shape[3]})));
  }
  ForwardCall padded;
  padded.p.options.mask = Padding{{1, 2, 3}};
  EXPECT_THAT(refused(padded), has({3, 2}));
  ForwardCall documents;
  documents.p.options.mask = Document{{0, 0, 1}};
  EXPECT_THAT(refused(documents), has({3}));
}

TEST(BadInput, BiasOfAnotherSizeIsRefused) {
  const std::vector<float> numbers(4 * 11, 0.0F);
  for (const Shape<2>& shape : {Shape<2>{1, 10}, {1, 12}, {2, 11}, {3, 11}, {0, 11}}) {
    ForwardCall c;
    c.p.options.bias = {numbers.data(), shape};
    EXPECT_THAT(refused(c), has({shape[0], shape[1], 11}));
  }
}

TEST(BadInput, DenseBiasOfAnotherSizeIsRefused) {
  const std::vector<float> numbers(2 * 4 * 5 * 7, 0.0F);
  for (const Shape<4>& shape :
       {Shape<4>{3, 1, 1, 7}, {1, 2, 5, 7}, {1, 1, 4, 7}, {1, 1, 5, 6}, {1, 1, 5, 1}, {2, 4, 0, 7}}) {
    ForwardCall c;
    c.p.options.dense_bias = {numbers.data(), shape};
    EXPECT_THAT(refused(c), has({shape[0], shape[1], shape[2], shape[3], 7}));
  }
}

TEST(BadInput, SinkOfAnotherSizeIsRefused) {
  const std::vector<float> numbers(5, 0.0F);
  for (const std::int64_t n : {1, 3, 5}) {
    ForwardCall c;
    c.p.options.sink = {numbers.data(), {n}};
    EXPECT_THAT(refused(c), has({n, 4}));
  }
}

TEST(BadInput, ScaleSoftcapAndDropoutMustBeInRange) {
  for (const float scale : {kNan, kInfinity, -kInfinity}) {
    ForwardCall c;
    c.p.options.scale = scale;
    EXPECT_THAT(refused(c), HasSubstr("scale"));
  }
  for (const float softcap : {kNan, kInfinity, -1.0F}) {
    ForwardCall c;
    c.p.options.softcap = softcap;
    EXPECT_THAT(refused(c), HasSubstr("softcap"));
  }
  for (const float rate : {kNan, -0.1F, 1.0F, 1.5F, kInfinity}) {
    ForwardCall c;
    c.p.options.dropout.rate = rate;
    EXPECT_THAT(refused(c), AllOf(HasSubstr("dropout"), HasSubstr("1)")));
  }
}

TEST(BadInput, LastAxisThatIsNotDenseIsRefused) {
  for (const char* which : {"q", "k", "v", "out", "lse"}) {
    SCOPED_TRACE(which);
    ForwardCall c;
    const std::string name = which;
    if (name == "q" || name == "k") c.in.q.shape[3] = c.in.k.shape[3] = 8;
    if (name == "q") c.in.q.strides[3] = 2;
    if (name == "k") c.in.k.strides[3] = 2;
    if (name == "v" || name == "out") c.in.v.shape[3] = c.out.shape[3] = 12;
    if (name == "v") c.in.v.strides[3] = 2;
    if (name == "out") c.out.strides[3] = 2;
    std::vector<float> wide(2 * 4 * 10);
    if (name == "lse") c.lse = {wide.data(), {2, 4, 5}, {40, 10, 2}};
    EXPECT_THAT(refused(c), AllOf(HasSubstr(name), has({2})));
  }
}

TEST(BadInput, PlanOfAnotherShapeIsRefused) {
  for (const Extent& other : {Extent{1, 4, 5, 7}, {2, 2, 5, 7}, {2, 4, 6, 7}, {2, 4, 5, 8}}) {
    ForwardCall c;
    const TilePlan plan(Mask{}, other);
    c.p.options.plan = &plan;
    EXPECT_THAT(refused(c), has({other.queries, other.keys, 5, 7}));
  }
}

TEST(BadInput, MissingArraysAreRefused) {
  for (const int which : {0, 1, 2, 3}) {
    SCOPED_TRACE(which);
    ForwardCall c;
    if (which == 0) c.in.q.data = nullptr;
    if (which == 1) c.in.k.data = nullptr;
    if (which == 2) c.in.v.data = nullptr;
    if (which == 3) c.out.data = nullptr;
    EXPECT_NE(refused(c), "");
  }
}

}  // namespace
}  // namespace attn::test
