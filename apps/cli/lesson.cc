// cli/lesson.cc - attnscope lesson: what attention is, by numbers that can be checked.
#include "lesson.h"

#include <CLI/CLI.hpp>

namespace attn::cli {

void add_lesson(CLI::App& app, Shell& shell) {
  CLI::App* lessons = app.add_subcommand("lesson", "What attention is, by numbers that can be checked");
  lessons->require_subcommand(0, 1);
  add_lesson_imdb(*lessons, shell);
  lessons->callback([lessons] {
    if (lessons->get_subcommands().empty()) print(lessons->help());
  });
}

}  // namespace attn::cli
