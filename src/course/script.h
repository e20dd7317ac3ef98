// clang-format off
// course/script.h - parses the text of a lesson (lessons/NAME/en.md) and fills in its numbers.
//
//   # Title                                       the first three, in this order; one line each
//   > What it shows, in one sentence.
//   ## id: Title of a step
//   A paragraph.                                  {weights[0,1]:.4f} is a number of the lesson, {word} a word of it,
//                                                 {weights:shape} a shape
//   {?name}A paragraph, item, show ...            shown only if the lesson has a word or array of that name;
//                                                 {!name}: only if it has none
//   $ weights = softmax(Q K^T / sqrt(d_k))        a formula
//   @ table weights                               shows an array; instead of table: bars, heatmap, curve, figure,
//                                                 diagram, mask, live, code; lines: a word, line by line
//   - an item                                     of a list
//   ! The wrong way: ...                          a mistake and its consequence, set off from the rest
//   ? A question                                  for the reader; the next line has
//   = output[0,1] 0.01                            where the right number is, and the tolerance
// clang-format on
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
  std::string text;         // of show: the name of an array or figure, "weights"
  std::string how = {};     // of show: "table", "bars", ...
  std::string answer = {};  // of question: reference to the right number, "output[0,1]"
  double tolerance = 0;     // of question
  bool measured = false;    // contains a measured number, which differs between machines; set by filled()
};

struct ScriptStep {
  std::string id, title;
  std::vector<ScriptBlock> blocks;
};

struct Script {
  std::string title, line;
  std::vector<ScriptStep> steps;
};

// Throws std::invalid_argument that quotes the line which does not follow the grammar above.
Script parse_script(std::string_view text);

// Replaces {name[i,j]:format}; format is one of fmt's for numbers, "shape", "percent", "grouped" (1,234) or absent
// (shortest). Throws std::invalid_argument for a name or an index that does not exist: a text never shows a number that
// was not computed.
std::string filled(std::string_view text, const LessonOutput& output);
// The number that a reference such as "output[0,1]" names. Throws likewise.
double number_at(std::string_view reference, const LessonOutput& output);
Script filled(Script script, const LessonOutput& output);

}  // namespace attn::course
