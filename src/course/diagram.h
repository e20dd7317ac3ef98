// course/diagram.h - data-flow diagrams drawn with text; the page draws its own under the same names.
#pragma once

#include <string>

#include "course/screen.h"

namespace attn::course {

// `name` is "attention", "heads", "cross", "rnn" ... Throws std::invalid_argument that lists the names for any other.
std::string diagram_text(const std::string& name, const OnScreen& on);

}  // namespace attn::course
