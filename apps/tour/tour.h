// tour/tour.h - what the engine does, shown in one screen or two.
#pragma once

#include <ostream>

#include "attn/attn.h"
#include "terminal.h"

namespace attn::tour {

void by_hand(std::ostream& out, const Terminal& terminal, ThreadPool& pool);
void sentence(std::ostream& out, const Terminal& terminal, ThreadPool& pool);
void masks(std::ostream& out, const Terminal& terminal);
void speed(std::ostream& out, const Terminal& terminal, ThreadPool& pool);  // takes about a second

}  // namespace attn::tour
