// tests/fuzz/targets.h - the functions behind fuzz.h's list.
#pragma once

#include <string_view>

namespace attn::fuzz {

// A request to the server: "POST /api/recordings?words=1", then the body.
void fuzz_api(std::string_view input);
// The name of a family's golden model, then the config.json that replaces its own.
void fuzz_config(std::string_view input);
// A file extension and a column (or nothing), then the file.
void fuzz_dataset(std::string_view input);
// The header of a request, as it comes from a socket.
void fuzz_gate(std::string_view input);
// A lesson's name, settings (one per line), ==== and its input, ==== and its word vectors.
void fuzz_lesson(std::string_view input);
// A mask's text.
void fuzz_mask(std::string_view input);
// An .attn file.
void fuzz_recording(std::string_view input);
// A safetensors file.
void fuzz_safetensors(std::string_view input);
// A file extension, then the file.
void fuzz_table(std::string_view input);
// The files of a tokenizer, each after a line with its name, with ==== in between; the last part is a text.
void fuzz_tokenizer(std::string_view input);

}  // namespace attn::fuzz
