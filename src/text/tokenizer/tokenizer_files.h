// text/tokenizer/tokenizer_files.h - finds the tokenizer of a model folder.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/folder.h"
#include "text/tokenizer/tokenizer.h"

namespace attn::text {

// The text of a tokenizer.json, and the file to name in error messages.
struct TokenizerSource {
  std::string json;
  std::string file;
};

// tokenizer.json as it is; without one, builds it from vocab.txt, or from vocab.json and merges.txt, with the settings
// of tokenizer_config.json and config.json. Throws attn::Error.
TokenizerSource tokenizer_source(const base::Folder& folder);

// Throws attn::Error with the most precise reason why a source could not be loaded. `reason` is the crate's message.
[[noreturn]] void explain_failure(const TokenizerSource& source, const std::string& reason);

// The special tokens that tokenizer_config.json and special_tokens_map.json name, else those with well-known names.
using Lookup = std::function<std::optional<std::int32_t>(std::string_view)>;
SpecialIds special_ids(const base::Folder& folder, const Lookup& id_of);

}  // namespace attn::text
