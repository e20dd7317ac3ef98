// text/tokenizer/vocab_files.h - tokenizers from before tokenizer.json, written as one.
#pragma once

#include "text/tokenizer/tokenizer_files.h"

namespace attn::text {

// vocab.txt: BERT's WordPiece. do_lower_case (true), strip_accents and tokenize_chinese_chars (true) come from
// tokenizer_config.json.
TokenizerSource wordpiece_source(const base::Folder& folder);

// vocab.json and merges.txt: byte-level BPE. GPT-2's, which adds nothing to a text, unless the folder is a RoBERTa's or
// BART's: <s> text </s>.
TokenizerSource byte_bpe_source(const base::Folder& folder);

}  // namespace attn::text
