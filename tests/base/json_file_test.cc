#include "base/json_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/errors.h"

namespace attn::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string json_refusal(const std::string& text, const base::JsonLimits& limits = {}) {
  return error_of([&] { (void)base::parse_json(text, "the body", limits); }).what();
}

std::string repeated(const std::string& part, int times) {
  std::string all;
  for (int n = 0; n < times; ++n) all += part;
  return all;
}

TEST(ForeignJson, SixtyFourLevelsAreParsedAndOneMoreIsNot) {
  EXPECT_EQ(base::parse_json(repeated("[", 64) + repeated("]", 64), "the body").size(), 1U);
  EXPECT_EQ(base::parse_json(repeated(R"({"a":)", 64) + "1" + repeated("}", 64), "the body").size(), 1U);
  EXPECT_EQ(json_refusal(repeated("[", 65) + repeated("]", 65)), "the body, byte 64: nested more than 64 levels deep");
  EXPECT_THAT(json_refusal(repeated(R"({"a":[)", 100'000)), HasSubstr("nested more than 64 levels deep"));
}

TEST(ForeignJson, BracketsInStringsDoNotNest) {
  const std::string brackets = repeated("[{", 100);
  EXPECT_EQ(base::parse_json("[\"" + brackets + "\"]", "the body")[0], brackets);
  EXPECT_EQ(base::parse_json(R"(["\"[[", "\\", "]"])", "the body").size(), 3U);
  EXPECT_THAT(json_refusal(R"(["\\",)" + repeated("[", 100)), HasSubstr("levels deep"));
  EXPECT_THAT(json_refusal("[\"" + brackets), HasSubstr("not JSON"));
  EXPECT_THAT(json_refusal("[\"\\"), HasSubstr("not JSON"));
}

TEST(ForeignJson, EveryProblemIsOneLineThatNamesItsOrigin) {
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[1,]"), std::string("nonsense"), std::string("[NaN]"),
        std::string("[1e99999]"), std::string("[-1e99999]"), std::string("[\"\xff\"]"), std::string("[1]\0", 4),
        std::string("[\"\0\"]", 5), std::string("[1] [2]"), std::string("[\"\\ud800\"]")}) {
    EXPECT_THAT(json_refusal(text), StartsWith("the body")) << text;
    EXPECT_THAT(json_refusal(text), Not(HasSubstr("json.exception"))) << text;
    EXPECT_LT(json_refusal(text).size(), 250U) << text;
  }
  EXPECT_EQ(json_refusal("[1e99999]"), "the body: contains a number that is out of range: '1e99999'");
}

TEST(ForeignJson, ValuesAreCountedBeforeAnyIsMade) {
  EXPECT_EQ(base::parse_json("[1, 2, 3]", "the body", {.values = 4}).size(), 3U);
  EXPECT_EQ(json_refusal("[1, 2, 3, 4]", {.values = 4}), "the body: has more than 4 values");
}

// Minutes with objects that keep their order: each new member searches, and copies, those before it.
TEST(ForeignJson, ManyMembersTakeLinearTime) {
  std::string members;
  for (int n = 0; n < 100'000; ++n) members += (n == 0 ? "\"" : ",\"") + std::to_string(n) + "\":[0]";
  EXPECT_EQ(base::parse_json("{" + members + "}", "the body").size(), 100'000U);
  const std::string list = "[" + repeated("[0],", 100'000) + "0]";
  const std::string nested = repeated(R"({"a":0,"b":0,"c":)", 60) + list + repeated(R"(,"d":0,"e":0})", 60);
  EXPECT_EQ(base::parse_json(nested, "the body").size(), 5U);
}

}  // namespace
}  // namespace attn::test
