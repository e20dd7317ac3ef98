#include "course/script.h"

#include <gmock/gmock.h>

#include <limits>

#include "course/json.h"
#include "course/lesson_input.h"

namespace attn::lesson {
namespace {

using testing::HasSubstr;

constexpr const char* kText = R"(# Title
> One sentence.

## first: The first step
Two lines are
one paragraph.

$ y = x
@ table weights
- an item
! wrong
? how much?
= weights[0,1] 0.5
)";

TEST(Script, HasStepsOfBlocks) {
  const Script script = parse_script(kText);
  EXPECT_EQ(script.title, "Title");
  EXPECT_EQ(script.line, "One sentence.");
  ASSERT_EQ(script.steps.size(), 1U);
  const Step& step = script.steps[0];
  EXPECT_EQ(step.id, "first");
  EXPECT_EQ(step.title, "The first step");
  ASSERT_EQ(step.blocks.size(), 6U);
  EXPECT_EQ(step.blocks[0].text, "Two lines are one paragraph.");
  EXPECT_EQ(step.blocks[1].what, Block::What::formula);
  EXPECT_EQ(step.blocks[2].how, "table");
  EXPECT_EQ(step.blocks[2].text, "weights");
  EXPECT_EQ(step.blocks[5].answer, "weights[0,1]");
  EXPECT_EQ(step.blocks[5].tolerance, 0.5);
}

TEST(Script, LinesOfChineseAreJoinedWithoutSpaces) {
  const Script script = parse_script("# T\n> L\n## a: b\n点积，\n相加\nQ 和；\n1 行\n");
  EXPECT_EQ(script.steps[0].blocks[0].text, "点积，相加 Q 和；1 行");
}

TEST(Script, SaysInWhichLineItIsWrong) {
  const auto message = [](const char* text) {
    try {
      parse_script(text);
    } catch (const std::invalid_argument& wrong) {
      return std::string(wrong.what());
    }
    return std::string();
  };
  EXPECT_THAT(message("# T\n> L\ntoo early\n"), HasSubstr("line 3"));
  EXPECT_THAT(message("# T\n> L\n## no colon\n"), HasSubstr("line 3"));
  EXPECT_THAT(message("# T\n> L\n## a: b\n= x 1\n"), HasSubstr("line 4"));
  EXPECT_THAT(message("nothing\n"), HasSubstr("line 1"));
}

Told small() {
  Told told;
  told.arrays.add("w", {{2, 2}, {0.25, 0.75, 1, -std::numeric_limits<double>::infinity()}});
  told.arrays.add("n", Array::scalar(3));
  told.words.add("word", "AI");
  told.measured.add("seconds", Array::scalar(0.5));
  return told;
}

TEST(Script, NumbersAreFilledIn) {
  const Told told = small();
  EXPECT_EQ(filled("{w[0,1]:.1f} {w[-1,0]} {w[1,1]} {n:.0f} {word} {w:shape} {w[0,0]:percent} {n:grouped}", told),
            "0.8 1 -inf 3 AI [2, 2] 25.0% 3");
  EXPECT_EQ(number_at("w[0,1]", told), 0.75);
}

TEST(Script, LeavesOutWhatIsOnlyToldOfOtherData) {
  const Script script = filled(
      parse_script("# T\n> L\n## a: b\n{?word}It is {word}.\n\n{!word}none\n\n{?x}{x}\n@ table {!x}w\n"), small());
  ASSERT_EQ(script.steps[0].blocks.size(), 2U);
  EXPECT_EQ(script.steps[0].blocks[0].text, "It is AI.");
  EXPECT_EQ(script.steps[0].blocks[1].text, "w");
}

TEST(Script, NothingIsFilledInThatWasNotComputed) {
  const Told told = small();
  for (const char* text : {"{x}", "{w}", "{w[0]}", "{w[0,2]}", "{w[0,0,0]}", "{w[a]}", "{w"})
    EXPECT_THROW(filled(text, told), std::invalid_argument) << text;
}

TEST(Script, KnowsWhichBlocksMentionTimes) {
  Script script = parse_script("# T\n> L\n## a: b\nIt took {seconds} s.\n\nIt is {n}.\n");
  script = filled(script, small());
  EXPECT_TRUE(script.steps[0].blocks[0].measured);
  EXPECT_FALSE(script.steps[0].blocks[1].measured);
}

Given with_data() {
  Given given;
  given.add({.name = "d_k", .what = {}, .value = 4, .least = 1, .most = 64, .whole = true});
  put(given, parsed(R"({"X": [[1, 2]], "vectors": [[1]], "words": ["a"], "text": "t"})"), Put::any);
  return given;
}

TEST(Given, TakesTheReadersData) {
  Given given = with_data();
  given.set("d_k=8");
  given.read(R"({"X": [[1, null], [3, 4]], "text": "mine"})");
  EXPECT_EQ(given.whole("d_k"), 8);
  EXPECT_EQ(given.array("X").shape, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(given.array("X").at(0, 1), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(given.text("text"), "mine");
  given.read(",a,b\nx,1,2\ny,3,4\n");
  EXPECT_THAT(given.array("X").rows, testing::ElementsAre("x", "y"));
  EXPECT_THAT(given.array("X").columns, testing::ElementsAre("a", "b"));
  given.read_vectors("cat 1 2\ndog 3 4\n");
  EXPECT_THAT(given.words("words"), testing::ElementsAre("cat", "dog"));
  EXPECT_EQ(given.array("vectors").at(1, 0), 3);
}

TEST(Given, RefusesWhatTheLessonDoesNotHave) {
  Given given = with_data();
  EXPECT_THROW(given.set("heads=2"), std::invalid_argument);
  EXPECT_THROW(given.set("d_k=1.5"), std::invalid_argument);
  EXPECT_THROW(given.set("d_k=65"), std::invalid_argument);
  EXPECT_THROW(given.set("d_k"), std::invalid_argument);
  EXPECT_THROW(given.read(R"({"Y": [[1]]})"), std::invalid_argument);
  EXPECT_THROW(given.read(R"({"X": [[1], [1, 2]]})"), std::invalid_argument);
  EXPECT_THROW(given.read("{"), std::invalid_argument);
  EXPECT_THROW(given.read("1,2\n3\n"), std::invalid_argument);
  EXPECT_THROW(given.read_vectors("cat 1 2\ndog 3\n"), std::invalid_argument);
  EXPECT_THROW(given.read_vectors("\n"), std::invalid_argument);
}

}  // namespace
}  // namespace attn::lesson
