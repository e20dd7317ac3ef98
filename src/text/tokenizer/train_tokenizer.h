// text/tokenizer/train_tokenizer.h - trains tokenizers on texts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "text/tokenizer/tokenizer.h"

namespace attn::text {

enum class Scheme : std::uint8_t {
  word_piece,  // BERT's: Chinese characters separate; [PAD] [UNK] [CLS] [SEP] [MASK] are 0..4; "[CLS] a [SEP] b [SEP]"
  byte_bpe,    // GPT-2's: bytes, no prefix space; <|endoftext|> is 0
  words,       // whole words and single Chinese characters, for small encoder-decoders: <s> <pad> </s> <unk> are 0..3,
               // as BART numbers them; "<s> a </s>"
  split,       // splits at white space, as the first lesson does; <pad> <unk> are 0 and 1; no special tokens are added
};

struct TokenizerPlan {
  Scheme scheme = Scheme::word_piece;
  std::int64_t vocabulary = 8000;  // number of pieces, special tokens included; 0: as many as the texts yield
  std::int64_t least_count = 2;    // minimum count of a letter, a word, or a pair of pieces to merge
  bool lower_case = true;          // for BERT also strips accents; ignored by byte_bpe
};

// The files of a tokenizer. transformers.AutoTokenizer loads a folder with both.
struct TokenizerFiles {
  std::string tokenizer;  // tokenizer.json
  std::string config;     // tokenizer_config.json
};

// Calls `next` until it returns none; the same texts give the same bytes. Throws std::invalid_argument for texts
// without a word, texts that are not UTF-8, and a vocabulary that the texts cannot fill (the message has both numbers)
// or that is too small for what it must hold.
using NextText = std::function<std::optional<std::string>()>;
TokenizerFiles trained_tokenizer(const TokenizerPlan& plan, const NextText& next);

// Loads the files from memory.
Tokenizer load_tokenizer(const TokenizerFiles& files);

// Trains and writes the files into the folder, which must exist, each completely or not at all. Throws attn::Error.
void train_tokenizer(const TokenizerPlan& plan, const NextText& next, const std::filesystem::path& folder);

}  // namespace attn::text
