// cli/lesson.h - attnscope lesson NAME: a file a lesson.
#pragma once

#include "command.h"

namespace attn::cli {

void add_lesson_imdb(CLI::App& lessons, Shell& shell);

}  // namespace attn::cli
