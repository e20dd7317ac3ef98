// course/diagram.h - how arrays flow, drawn with boxes and arrows of text; the page draws the same by their names.
#pragma once

#include <string>

#include "course/screen.h"

namespace attn::course {

// "attention", "heads", "cross", "rnn" ... Throws std::invalid_argument that names them all for another one.
std::string diagram_text(const std::string& name, const OnScreen& on);

}  // namespace attn::course
