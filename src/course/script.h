// course/script.h - a lesson's text, as lessons/NAME/en.md has it, and the same with its numbers filled in.
//
//   # Title                              one line each, in this order
//   > What it shows, in one sentence.
//   ## id: A step's title
//   A paragraph. {weights[0,1]:.4f} is a number of the lesson, {word} a word of it, {weights:shape} a shape.
//   {?name}A paragraph, item, show...              only where the lesson has such a word or array; {!name}: only where
//   not $ weights = softmax(Q K^T / sqrt(d_k))          a formula
//   @ table weights                                 an array; also: bars, heatmap, curve, figure, diagram, mask, live,
//   code; lines: a word of several lines as it is
//   - a line of a list
//   ! The wrong way: ...                            what goes wrong, told apart from the rest
//   ? A question                                    what the reader answers; on the next line
//   = output[0,1] 0.01                              the number that is right, and by how much an answer may miss it
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "course/lesson_output.h"

namespace attn::course {

struct ScriptBlock {
  enum class What : std::uint8_t { paragraph, formula, show, item, wrong, question };
  What what = What::paragraph;
  std::string text;         // of show: what is shown, "weights"
  std::string how = {};     // of show: "table", "bars", ...
  std::string answer = {};  // of question: where the right number stands, "output[0,1]"
  double tolerance = 0;     // of question
  bool measured = false;    // has a number that is not the same on two machines; known when it is filled in
};

struct ScriptStep {
  std::string id, title;
  std::vector<ScriptBlock> blocks;
};

struct Script {
  std::string title, line;
  std::vector<ScriptStep> steps;
};

// Throws std::invalid_argument that names the line where the text is not as above.
Script parse_script(std::string_view text);

// {name[i,j]:format}: format is as fmt has it for numbers, "shape", "percent", "grouped" (1,234) or absent (shortest).
// Throws std::invalid_argument for a name or a place that is not there: a text never shows a number that was not
// computed.
std::string filled(std::string_view text, const LessonOutput& output);
// "output[0,1]" of what was computed. Throws likewise.
double number_at(std::string_view reference, const LessonOutput& output);
Script filled(Script script, const LessonOutput& output);

}  // namespace attn::course
