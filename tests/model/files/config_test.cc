// config.json: every getter, and every way in which a file can be wrong.
#include "model/files/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace attn::model {
namespace {

using test::error_of;
using test::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Config config(const std::string& text) { return Config::parse(text, "config.json"); }

// The error of parse() for a text.
std::string config_refusal(const std::string& text) {
  return error_of([&] { (void)config(text); }).what();
}

template <typename Ask>
std::string complaint(const std::string& text, const Ask& ask) {
  const Config c = config(text);
  return error_of([&] { (void)ask(c); }).what();
}

TEST(Config, ReadsEveryType) {
  const Config c = config(R"({"layers": 12, "eps": 1e-12, "tie": true, "act": "gelu", "eos": [1, 2]})");
  EXPECT_EQ(c.integer({"layers"}), 12);
  EXPECT_EQ(c.number({"eps"}), 1e-12);
  EXPECT_EQ(c.number({"layers"}), 12.0);
  EXPECT_TRUE(c.flag({"tie"}, false));
  EXPECT_EQ(c.text({"act"}), "gelu");
  EXPECT_THAT(c.integers({"eos"}), ElementsAre(1, 2));
}

TEST(Config, FirstNameThatIsPresentAndNotNullWins) {
  const Config c = config(R"({"n_embd": 64, "d_model": 32, "hidden_size": null})");
  EXPECT_EQ(c.integer({"hidden_size", "d_model", "n_embd"}), 32);
  EXPECT_EQ(c.integer({"n_embd", "d_model"}), 64);
  EXPECT_TRUE(c.has({"hidden_size", "d_model"}));
  EXPECT_FALSE(c.has({"hidden_size"}));
}

TEST(Config, DefaultsReplaceMissingOrNullValues) {
  const Config c = config(R"({"a": null})");
  EXPECT_EQ(c.integer({"a", "b"}, 7), 7);
  EXPECT_EQ(c.number({"a"}, 0.5), 0.5);
  EXPECT_FALSE(c.flag({"a"}, false));
  EXPECT_TRUE(c.flag({"b"}, true));
  EXPECT_EQ(c.text({"a"}, "gelu"), "gelu");
  EXPECT_THAT(c.integers({"a"}), IsEmpty());
  EXPECT_THAT(c.texts({"b"}), IsEmpty());
  EXPECT_FALSE(c.child({"a"}).has_value());
}

TEST(Config, MissingWithoutDefaultNamesAllNames) {
  EXPECT_EQ(complaint("{}", [](const Config& c) { return c.integer({"hidden_size", "n_embd", "d_model"}); }),
            "config.json: hidden_size (or n_embd, d_model) is missing");
  EXPECT_EQ(complaint("{}", [](const Config& c) { return c.text({"model_type"}); }),
            "config.json: model_type is missing");
  EXPECT_EQ(complaint("{}", [](const Config& c) { return c.number({"eps"}); }), "config.json: eps is missing");
}

TEST(Config, WrongTypeNamesTheValueAndTheTypeNeeded) {
  const auto integer = [](const Config& c) { return c.integer({"a"}, 1); };
  EXPECT_EQ(complaint(R"({"a": "12"})", integer), "config.json: a is \"12\"; a 64-bit integer is needed");
  EXPECT_EQ(complaint(R"({"a": true})", integer), "config.json: a is true; a 64-bit integer is needed");
  EXPECT_EQ(complaint(R"({"a": {}})", integer), "config.json: a is an object; a 64-bit integer is needed");
  EXPECT_EQ(complaint(R"({"a": [1]})", integer), "config.json: a is a list; a 64-bit integer is needed");
  EXPECT_EQ(complaint(R"({"a": "x"})", [](const Config& c) { return c.number({"a"}, 1); }),
            "config.json: a is \"x\"; a number is needed");
  EXPECT_EQ(complaint(R"({"a": 1})", [](const Config& c) { return c.flag({"a"}, true); }),
            "config.json: a is 1; true or false is needed");
  EXPECT_EQ(complaint(R"({"a": 1})", [](const Config& c) { return c.text({"a"}, ""); }),
            "config.json: a is 1; a string is needed");
  EXPECT_EQ(complaint(R"({"a": 1})", [](const Config& c) { return c.child({"a"}).has_value(); }),
            "config.json: a is 1; an object is needed");
}

TEST(Config, IntegersMayBeWrittenAsFloats) {
  const Config c = config(R"({"a": 1e3, "b": 12.0, "c": -0.0, "d": -9223372036854775808})");
  EXPECT_EQ(c.integer({"a"}), 1000);
  EXPECT_EQ(c.integer({"b"}), 12);
  EXPECT_EQ(c.integer({"c"}), 0);
  EXPECT_EQ(c.integer({"d"}), std::numeric_limits<std::int64_t>::min());
}

TEST(Config, FractionsAndNumbersBeyond64BitsAreNotIntegers) {
  for (const char* n : {"0.5", "9223372036854775808", "18446744073709551616", "1e30", "-1e19",
                        "1000000000000000019884624838656"})  // transformers writes this for "no limit"
    EXPECT_THAT(complaint(std::string("{\"a\": ") + n + "}", [](const Config& c) { return c.integer({"a"}); }),
                HasSubstr("a 64-bit integer is needed"))
        << n;
  EXPECT_EQ(config(R"({"a": 9223372036854775807})").integer({"a"}), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(config(R"({"a": 1e30})").number({"a"}), 1e30);
}

TEST(Config, OneValueCountsAsAListOfOne) {
  const Config c = config(R"({"eos": 2, "long": [1, 2.5], "names": "Bert"})");
  EXPECT_THAT(c.integers({"eos"}), ElementsAre(2));
  EXPECT_THAT(c.numbers({"long"}), ElementsAre(1, 2.5));
  EXPECT_THAT(c.texts({"names"}), ElementsAre("Bert"));
}

TEST(Config, AListNamesTheItemThatIsWrong) {
  EXPECT_EQ(complaint(R"({"eos": [1, null]})", [](const Config& c) { return c.integers({"eos"}); }),
            "config.json: eos[1] is null; a 64-bit integer is needed");
}

TEST(Config, AChildOutlivesItsParentAndNamesTheFullPath) {
  const auto child = [] {
    const Config c = config(R"({"rope": {"factor": "x", "inner": {}}})");
    return *c.child({"rope_scaling", "rope"});
  }();
  EXPECT_EQ(child.text({"factor"}), "x");
  EXPECT_STREQ(error_of([&] { (void)child.number({"factor"}); }).what(),
               "config.json: rope.factor is \"x\"; a number is needed");
  EXPECT_STREQ(error_of([&] { (void)child.child({"inner"})->number({"low", "high"}); }).what(),
               "config.json: rope.inner.low (or rope.inner.high) is missing");
}

TEST(Config, ListsItsNames) { EXPECT_THAT(config(R"({"b": 1, "a": null})").names(), ElementsAre("a", "b")); }

TEST(Config, BrokenJsonNamesTheByte) {
  const std::string said = config_refusal(R"({"a": 1,})");
  EXPECT_THAT(said, testing::StartsWith("config.json, byte 8: not JSON: "));
  EXPECT_THAT(said, HasSubstr("unexpected '}'"));
  EXPECT_THAT(said, testing::Not(HasSubstr("json.exception")));
  EXPECT_THAT(config_refusal(""), testing::StartsWith("config.json, byte 0: not JSON: "));
  EXPECT_THAT(config_refusal(R"({"a": 1)"), testing::StartsWith("config.json, byte 7: not JSON: "));
}

TEST(Config, NanAndInfinityAsPythonWritesThemAreExplained) {
  EXPECT_EQ(config_refusal(R"({"a": NaN})"),
            "config.json, byte 6: not JSON: NaN and Infinity are not valid JSON; use a number or null");
  EXPECT_THAT(config_refusal(R"({"a": -Infinity})"), HasSubstr("byte 7: not JSON: NaN and Infinity are no"));
}

TEST(Config, TopLevelMustBeAnObject) {
  EXPECT_EQ(config_refusal("[1]"), "config.json: is a list; a JSON object is needed");
  EXPECT_EQ(config_refusal("3"), "config.json: is 3; a JSON object is needed");
  EXPECT_EQ(config_refusal("null"), "config.json: is null; a JSON object is needed");
}

TEST(Config, HostileTextIsRefusedInOneShortLine) {
  EXPECT_THAT(config_refusal(std::string(1 << 20, '[')), HasSubstr("nested more than 64 levels deep"));
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_THAT(config_refusal(objects), HasSubstr("nested more than 64 levels deep"));
  EXPECT_LT(config_refusal("{\"" + std::string(1 << 20, 'x')).size(), 250);
  EXPECT_LT(config_refusal("{\"a\": \"\xff\n\"}").size(), 250);
  EXPECT_THAT(config_refusal(R"({"a": 1e999})"), HasSubstr("a number that is out of range: '1e999'"));
  EXPECT_THAT(config_refusal(std::string("{}\0{", 4)), HasSubstr("byte 2: not JSON: contains a zero byte"));
  EXPECT_LT(
      complaint("{\"a\": \"" + std::string(1 << 20, 'x') + "\"}", [](const Config& c) { return c.integer({"a"}); })
          .size(),
      250);
}

TEST(Config, ReadsFromAFileAndNamesIt) {
  const TemporaryFolder folder;
  const auto file = folder.write("config.json", "\xef\xbb\xbf{\"a\": 3}\n");  // with a byte order mark
  EXPECT_EQ(Config::read(file).integer({"a"}), 3);
  EXPECT_EQ(Config::read(file).path(), file.string());
  EXPECT_EQ(error_of([&] { (void)Config::read(folder / "none.json"); }).path(), (folder / "none.json").string());
}

}  // namespace
}  // namespace attn::model
