// Tests every lesson: its numbers match its numpy script, and its texts mention only what was computed.
#include "course/course.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "course/json.h"
#include "course/screen.h"

namespace attn::course {
namespace {

constexpr const char* kFolder = ATTNSCOPE_LESSONS;

class OfTheCourse : public testing::TestWithParam<std::size_t> {
 protected:
  const Lesson& lesson() const { return lessons()[GetParam()]; }
  LessonOutput output() const {
    ThreadPool pool(2);
    return lesson().tell(lesson().input, {.pool = pool});
  }
};

nlohmann::json expected_of(const std::string& name) {
  std::ifstream in(std::string(kFolder) + "/" + name + "/expected.json");
  std::stringstream text;
  text << in.rdbuf();
  return parse_reader_data(text.str());
}

TEST_P(OfTheCourse, MatchesItsNumpyScript) {
  const LessonOutput numbers = output();
  const nlohmann::json expected = expected_of(lesson().name);
  ASSERT_FALSE(expected.empty());
  for (const auto& [name, lists] : expected.items()) {
    const LessonArray* const array = numbers.arrays.find(name);
    ASSERT_NE(array, nullptr) << name << " is expected and was not computed";
    const LessonArray right = array_of(lists, name);
    ASSERT_EQ(array->shape, right.shape) << name;
    for (std::size_t n = 0; n < right.numbers.size(); ++n) {
      if (std::isinf(right.numbers[n])) {
        EXPECT_EQ(array->numbers[n], right.numbers[n]) << name << ", number " << n;
        continue;
      }
      EXPECT_NEAR(array->numbers[n], right.numbers[n], 2e-5 * (1 + std::abs(right.numbers[n])))
          << name << ", number " << n;
    }
  }
}

TEST_P(OfTheCourse, HasTheSameStepsInBothLanguages) {
  const LessonOutput numbers = output();
  const figure::Terminal terminal({.width = 80}, false);
  std::vector<std::vector<std::string>> shown;
  for (const std::string_view language : kLanguages) {
    const Script script = filled(lesson().scripts.at(std::string(language)), numbers);
    std::vector<std::string>& of_language = shown.emplace_back();
    for (const ScriptStep& step : script.steps) {
      of_language.push_back(step.id);
      EXPECT_FALSE(step_text(step, numbers, {terminal, std::string(language)}).empty());
      for (const ScriptBlock& block : step.blocks) {
        if (block.what == ScriptBlock::What::show) of_language.push_back(block.how + " " + block.text);
        if (!block.answer.empty()) {
          EXPECT_TRUE(std::isfinite(number_at(block.answer, numbers)));
          EXPECT_GT(block.tolerance, 0);
        }
      }
    }
  }
  EXPECT_EQ(shown[0], shown[1]);
}

TEST_P(OfTheCourse, ConvertsToJsonForThePage) {
  const LessonOutput numbers = output();
  for (const std::string_view language : kLanguages) {
    const Json page = page_json(lesson(), std::string(language), lesson().input, numbers);
    EXPECT_EQ(page.at("steps").size(), lesson().scripts.at(std::string(language)).steps.size());
    for (const auto& [name, array] : page.at("arrays").items()) {
      const std::string left = array.at("made").value("left", ""), right = array.at("made").value("right", "");
      for (const std::string& from : {left, right})
        EXPECT_TRUE(from.empty() || page.at("arrays").contains(from)) << name << " is made from " << from;
    }
  }
}

TEST_P(OfTheCourse, HasCodeForItsStepsInCppAndPython) {
  const std::vector<ScriptStep>& steps = lesson().scripts.at("en").steps;
  for (const char* file : {"steps.cc", "steps.py"}) {
    ASSERT_FALSE(lesson().code.at(file).empty()) << file;
    for (const auto& [id, text] : lesson().code.at(file)) {
      EXPECT_TRUE(std::ranges::any_of(steps, [&](const ScriptStep& step) { return step.id == id; }))
          << file << ": " << id;
      EXPECT_FALSE(text.starts_with(' ')) << text;
    }
  }
}

TEST_P(OfTheCourse, FiguresCanBeDrawn) {
  const LessonOutput numbers = output();
  for (const auto& [name, picture] : numbers.figures)
    EXPECT_FALSE(figure::draw(picture, figure::Output{.format = figure::Format::svg}).empty()) << name;
}

TEST_P(OfTheCourse, RequiresOnlyExistingLessons) {
  for (const std::string& before : lesson().before) EXPECT_NE(find_lesson(before), nullptr) << before;
  EXPECT_GT(lesson().minutes, 0);
}

INSTANTIATE_TEST_SUITE_P(Lessons, OfTheCourse, testing::Range<std::size_t>(0, lessons().size()), [](const auto& one) {
  std::string name = lessons()[one.param].name;
  std::ranges::replace(name, '-', '_');
  return name;
});

}  // namespace
}  // namespace attn::course
