// text/tokenizer/vocab_files.h - converts tokenizers from before tokenizer.json.
#pragma once

#include "text/tokenizer/tokenizer_files.h"

namespace attn::text {

// vocab.txt: BERT's WordPiece. do_lower_case (true), strip_accents and tokenize_chinese_chars (true) come from
// tokenizer_config.json.
TokenizerSource wordpiece_source(const base::Folder& folder);

// vocab.json and merges.txt: byte-level BPE. GPT-2's, which adds no special tokens, unless the folder holds a RoBERTa
// or BART: <s> text </s>.
TokenizerSource byte_bpe_source(const base::Folder& folder);

}  // namespace attn::text
