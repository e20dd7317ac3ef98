// text/tokenizer/no_memory.h - what happens if a tokenizer finds no memory.
#pragma once

namespace attn::text {

// For programs: `handler` is called where a tokenizer finds no memory, and should end the program. Without it, a
// tokenizer that finds none prints a line and aborts; all other code throws std::bad_alloc.
void on_no_memory(void (*handler)());

}  // namespace attn::text
