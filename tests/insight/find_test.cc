#include "insight/statistics/find.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <utility>

#include "attn/mask.h"
#include "tests/insight/random_rows.h"

namespace attn::insight {
namespace {

constexpr std::int64_t kPatternTokens = 40;

// Heads that attend to i - 1, to all keys evenly, and to i.
InMemoryTables three_heads() {
  InMemoryTables::Tables table_data{1, 3, nn::Matrix(3 * kPatternTokens, kPatternTokens)};
  std::fill_n(table_data.numbers.data(), 3 * kPatternTokens * kPatternTokens, 0.0F);
  for (std::int64_t i = 0; i < kPatternTokens; ++i) {
    table_data.numbers.row(i)[i > 0 ? i - 1 : 0] = 1;
    std::fill_n(table_data.numbers.row(kPatternTokens + i), kPatternTokens, 1.0F / kPatternTokens);
    table_data.numbers.row(2 * kPatternTokens + i)[i] = 1;
  }
  return {std::move(table_data), {}, {}};
}

std::vector<Similar> found(const Pattern& pattern) {
  ThreadPool pool(2);
  return find_heads(three_heads(), pattern, {}, pool);
}

NamedPattern named(std::string_view text) { return parse_pattern(text).value_or(NamedPattern{"unknown"}); }

nn::Matrix picture(std::int64_t size, const auto& at) {
  nn::Matrix out(size, size);
  for (std::int64_t i = 0; i < size; ++i)
    for (std::int64_t j = 0; j < size; ++j) out.row(i)[j] = static_cast<float>(at(i, j));
  return out;
}

TEST(FindHeads, ANameFindsHeadsWithThatPattern) {
  EXPECT_EQ(found(named("previous"))[0].head.head, 0);
  EXPECT_EQ(found(named("offset(-1)"))[0].similarity, 1);
  EXPECT_EQ(found(named("broad"))[0].head.head, 1);
  EXPECT_EQ(found(named("same"))[0].head.head, 2);
}

TEST(FindHeads, AMaskFindsHeadsThatSpreadEvenlyOverIt) {
  const auto evenly = found(parse_mask("everything"));
  EXPECT_EQ(evenly[0].head.head, 1);
  EXPECT_NEAR(evenly[0].similarity, 1, 1e-5);
  const auto diagonal = found(parse_mask("window(0)"));
  EXPECT_EQ(diagonal[0].head.head, 2);
  EXPECT_EQ(diagonal[0].similarity, 1);
}

TEST(FindHeads, APictureOfAnySizeFindsItsShape) {
  for (const std::int64_t size : {4, 40, 160}) {
    const auto nearest = found(picture(size, [](std::int64_t i, std::int64_t j) { return i == j ? 200 : 0; }));
    EXPECT_EQ(nearest[0].head.head, 2) << size;
    EXPECT_NEAR(nearest[0].similarity, 1, 1e-5) << size;
    EXPECT_LT(nearest[1].similarity, size == 4 ? 0.95 : 0.1) << size;
  }
}

TEST(FindHeads, ZeroRowsOfAPictureAreIgnored) {
  const auto nearest = found(picture(8, [](std::int64_t i, std::int64_t j) { return i == 3 && j == 3 ? 1 : 0; }));
  EXPECT_EQ(nearest[0].head.head, 2);
  EXPECT_NEAR(nearest[0].similarity, 1, 1e-6);
}

TEST(FindHeads, ScalingAPictureChangesNothing) {
  const auto shape = [](double factor) {
    return found(picture(8, [&](std::int64_t i, std::int64_t j) { return factor * (i >= j ? 1 : 0.25); }));
  };
  EXPECT_NEAR(shape(1)[0].similarity, shape(100)[0].similarity, 1e-6);
}

TEST(FindHeads, RejectsWhatIsNotAPattern) {
  EXPECT_FALSE(parse_pattern("sideways"));
  EXPECT_EQ(to_string(parse_name_or_mask("offset(-3)")), "offset(-3)");
  EXPECT_EQ(to_string(parse_name_or_mask("broad")), "broad");
  EXPECT_EQ(to_string(parse_name_or_mask("causal&window(2)")), "causal & window(2)");
  EXPECT_EQ(to_string(Pattern(nn::Matrix(2, 3))), "a picture of 2 x 3");
  const std::string said = test::refusal_of([] { parse_name_or_mask("sideways"); });
  EXPECT_TRUE(said.starts_with("'sideways' is neither a name (previous, ")) << said;
  EXPECT_EQ(said.find('\n'), std::string::npos);
  EXPECT_FALSE(parse_pattern("offset"));
  EXPECT_THROW(static_cast<void>(parse_pattern("offset(17)")), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(parse_pattern("offset(x)")), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(found(nn::Matrix())), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(found(picture(3, [](auto, auto) { return 0; }))), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(found(picture(3, [](auto, auto) { return -1; }))), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(found(NamedPattern{"offset", 99})), std::invalid_argument);
}

}  // namespace
}  // namespace attn::insight
