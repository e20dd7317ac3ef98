// text/tokenizer/tokenizer_files.h - what a model's folder says about its tokenizer.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/folder.h"
#include "text/tokenizer/tokenizer.h"

namespace attn::text {

// The text of a tokenizer.json, and the file that is to be named if it is wrong.
struct TokenizerSource {
  std::string json;
  std::string file;
};

// tokenizer.json as it stands; where there is none, one made of vocab.txt or of vocab.json and merges.txt, as
// tokenizer_config.json and config.json want it. Throws attn::Error.
TokenizerSource tokenizer_source(const base::Folder& folder);

// Why a source could not be loaded, as precisely as can be found out. `reason` is what the crate said.
[[noreturn]] void explain_failure(const TokenizerSource& source, const std::string& reason);

// The special tokens that tokenizer_config.json and special_tokens_map.json name, else those with well-known names.
using Lookup = std::function<std::optional<std::int32_t>(std::string_view)>;
SpecialIds special_ids(const base::Folder& folder, const Lookup& id_of);

}  // namespace attn::text
