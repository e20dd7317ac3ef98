#include "course/script.h"

#include <gmock/gmock.h>

#include <limits>

#include "course/json.h"
#include "course/lesson_input.h"

namespace attn::course {
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
  const ScriptStep& step = script.steps[0];
  EXPECT_EQ(step.id, "first");
  EXPECT_EQ(step.title, "The first step");
  ASSERT_EQ(step.blocks.size(), 6U);
  EXPECT_EQ(step.blocks[0].text, "Two lines are one paragraph.");
  EXPECT_EQ(step.blocks[1].what, ScriptBlock::What::formula);
  EXPECT_EQ(step.blocks[2].how, "table");
  EXPECT_EQ(step.blocks[2].text, "weights");
  EXPECT_EQ(step.blocks[5].answer, "weights[0,1]");
  EXPECT_EQ(step.blocks[5].tolerance, 0.5);
}

TEST(Script, LinesOfChineseAreJoinedWithoutSpaces) {
  const Script script = parse_script("# T\n> L\n## a: b\n点积，\n相加\nQ 和；\n1 行\n");
  EXPECT_EQ(script.steps[0].blocks[0].text, "点积，相加 Q 和；1 行");
}

TEST(Script, NamesTheLineWithTheError) {
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

LessonOutput small() {
  LessonOutput output;
  output.arrays.add("w", {{2, 2}, {0.25, 0.75, 1, -std::numeric_limits<double>::infinity()}});
  output.arrays.add("n", LessonArray::scalar(3));
  output.words.add("word", "AI");
  output.measured.add("seconds", LessonArray::scalar(0.5));
  return output;
}

TEST(Script, NumbersAreFilledIn) {
  const LessonOutput output = small();
  EXPECT_EQ(filled("{w[0,1]:.1f} {w[-1,0]} {w[1,1]} {n:.0f} {word} {w:shape} {w[0,0]:percent} {n:grouped}", output),
            "0.8 1 -inf 3 AI [2, 2] 25.0% 3");
  EXPECT_EQ(number_at("w[0,1]", output), 0.75);
}

TEST(Script, LeavesOutBlocksForOtherData) {
  const Script script = filled(
      parse_script("# T\n> L\n## a: b\n{?word}It is {word}.\n\n{!word}none\n\n{?x}{x}\n@ table {!x}w\n"), small());
  ASSERT_EQ(script.steps[0].blocks.size(), 2U);
  EXPECT_EQ(script.steps[0].blocks[0].text, "It is AI.");
  EXPECT_EQ(script.steps[0].blocks[1].text, "w");
}

TEST(Script, FillsInOnlyWhatWasComputed) {
  const LessonOutput output = small();
  for (const char* text : {"{x}", "{w}", "{w[0]}", "{w[0,2]}", "{w[0,0,0]}", "{w[a]}", "{w"})
    EXPECT_THROW(filled(text, output), std::invalid_argument) << text;
}

TEST(Script, KnowsWhichBlocksMentionTimes) {
  Script script = parse_script("# T\n> L\n## a: b\nIt took {seconds} s.\n\nIt is {n}.\n");
  script = filled(script, small());
  EXPECT_TRUE(script.steps[0].blocks[0].measured);
  EXPECT_FALSE(script.steps[0].blocks[1].measured);
}

LessonInput with_data() {
  LessonInput input;
  input.add({.name = "d_k", .what = {}, .value = 4, .least = 1, .most = 64, .whole = true});
  put(input, parse_reader_data(R"({"X": [[1, 2]], "vectors": [[1]], "words": ["a"], "text": "t"})"), Put::any);
  return input;
}

TEST(LessonInput, TakesTheReadersData) {
  LessonInput input = with_data();
  input.set("d_k=8");
  input.read(R"({"X": [[1, null], [3, 4]], "text": "mine"})");
  EXPECT_EQ(input.whole("d_k"), 8);
  EXPECT_EQ(input.array("X").shape, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(input.array("X").at(0, 1), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(input.text("text"), "mine");
  input.read(",a,b\nx,1,2\ny,3,4\n");
  EXPECT_THAT(input.array("X").rows, testing::ElementsAre("x", "y"));
  EXPECT_THAT(input.array("X").columns, testing::ElementsAre("a", "b"));
  input.read_vectors("cat 1 2\ndog 3 4\n");
  EXPECT_THAT(input.words("words"), testing::ElementsAre("cat", "dog"));
  EXPECT_EQ(input.array("vectors").at(1, 0), 3);
}

TEST(LessonInput, RejectsUnknownNamesAndInvalidData) {
  LessonInput input = with_data();
  EXPECT_THROW(input.set("heads=2"), std::invalid_argument);
  EXPECT_THROW(input.set("d_k=1.5"), std::invalid_argument);
  EXPECT_THROW(input.set("d_k=65"), std::invalid_argument);
  EXPECT_THROW(input.set("d_k"), std::invalid_argument);
  EXPECT_THROW(input.read(R"({"Y": [[1]]})"), std::invalid_argument);
  EXPECT_THROW(input.read(R"({"X": [[1], [1, 2]]})"), std::invalid_argument);
  EXPECT_THROW(input.read("{"), std::invalid_argument);
  EXPECT_THROW(input.read("1,2\n3\n"), std::invalid_argument);
  EXPECT_THROW(input.read_vectors("cat 1 2\ndog 3\n"), std::invalid_argument);
  EXPECT_THROW(input.read_vectors("\n"), std::invalid_argument);
}

}  // namespace
}  // namespace attn::course
