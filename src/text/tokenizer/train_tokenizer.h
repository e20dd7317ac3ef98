// text/tokenizer/train_tokenizer.h - tokenizers made from texts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "text/tokenizer/tokenizer.h"

namespace attn::text {

enum class Scheme : std::uint8_t {
  word_piece,  // BERT's: Chinese characters apart; [PAD] [UNK] [CLS] [SEP] [MASK] are 0..4; "[CLS] a [SEP] b [SEP]"
  byte_bpe,    // GPT-2's: bytes, no prefix space; <|endoftext|> is 0
  words,       // whole words and single Chinese characters, for small encoder-decoders: <s> <pad> </s> <unk> are 0..3,
               // as BART numbers them; "<s> a </s>"
  split,       // what lies between white space, as a first lesson cuts texts; <pad> <unk> are 0 and 1, nothing is added
};

struct TokenizerPlan {
  Scheme scheme = Scheme::word_piece;
  std::int64_t vocabulary = 8000;  // pieces, special tokens included; 0: all that the texts give
  std::int64_t least_count = 2;    // of a letter, a word, or two pieces that are to become one
  bool lower_case = true;          // BERT strips accents then, too; of no meaning to byte_bpe
};

// The files of a tokenizer. transformers.AutoTokenizer loads a folder that has both.
struct TokenizerFiles {
  std::string tokenizer;  // tokenizer.json
  std::string config;     // tokenizer_config.json
};

// Texts are asked for one after the other, until there is none; the same texts give the same bytes. Throws
// std::invalid_argument for texts without a word and for a vocabulary that they cannot fill (the message has both
// numbers), that is too small for what it must hold, or texts that are not UTF-8.
using NextText = std::function<std::optional<std::string>()>;
TokenizerFiles trained_tokenizer(const TokenizerPlan& plan, const NextText& next);

// Without a folder of its own.
Tokenizer load_tokenizer(const TokenizerFiles& files);

// Also writes them into the folder, which must exist, each whole or not at all. Throws attn::Error.
void train_tokenizer(const TokenizerPlan& plan, const NextText& next, const std::filesystem::path& folder);

}  // namespace attn::text
