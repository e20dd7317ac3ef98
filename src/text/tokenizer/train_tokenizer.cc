#include "text/tokenizer/train_tokenizer.h"

#include <array>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "base/new_file.h"
#include "base/utf8.h"
#include "text/tokenizer/crate.h"
#include "text/tokenizer/tokenizer_json.h"

namespace attn::text {
namespace {

using nlohmann::json;

struct FreeTrainer {
  void operator()(AttnTrainer* trainer) const { attn_trainer_free(trainer); }
};

json special_tokens(const std::vector<const char*>& names) {
  json tokens = json::array();
  for (const char* name : names) tokens.push_back(special_token(static_cast<std::int64_t>(tokens.size()), name));
  return tokens;
}

json word_piece_file(bool lower_case) {
  json file = tokenizer_json(special_tokens({"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}),
                             word_piece_model("[UNK]", json::object()));
  file["normalizer"] = bert_normalizer(lower_case);
  file["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  file["post_processor"] = bert_template({"[CLS]", 2}, {"[SEP]", 3});
  file["decoder"] = word_piece_decoder();
  return file;
}

json byte_bpe_file() {
  json file = tokenizer_json(special_tokens({"<|endoftext|>"}),
                             {{"type", "BPE"}, {"vocab", json::object()}, {"merges", json::array()}});
  file["pre_tokenizer"] = byte_level(false, true);
  file["post_processor"] = byte_level(true, false);
  file["decoder"] = byte_level(true, true);
  return file;
}

// Joins with spaces for "i love you", without for "我爱你".
json word_decoder() {
  const std::string chinese = "[\\p{Han}、。，？！；：]";
  const json replace = {
      {"type", "Replace"}, {"pattern", {{"Regex", "(?<=" + chinese + ") (?=" + chinese + ")"}}}, {"content", ""}};
  return {{"type", "Sequence"}, {"decoders", json::array({word_piece_decoder(), {{"type", "Fuse"}}, replace})}};
}

json words_file(bool lower_case) {
  json file = tokenizer_json(special_tokens({"<s>", "<pad>", "</s>", "<unk>"}),
                             {{"type", "WordLevel"}, {"vocab", json::object()}, {"unk_token", "<unk>"}});
  file["normalizer"] = bert_normalizer(lower_case);
  file["normalizer"]["strip_accents"] = false;
  file["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  file["post_processor"] = bart_template({"<s>", 0}, {"</s>", 2});
  file["decoder"] = word_decoder();
  return file;
}

json split_file(bool lower_case) {
  json file = tokenizer_json(special_tokens({"<pad>", "<unk>"}),
                             {{"type", "WordLevel"}, {"vocab", json::object()}, {"unk_token", "<unk>"}});
  if (lower_case) file["normalizer"] = {{"type", "Lowercase"}};
  file["pre_tokenizer"] = {{"type", "WhitespaceSplit"}};
  return file;
}

json empty_file(const TokenizerPlan& plan) {
  switch (plan.scheme) {
    case Scheme::word_piece:
      return word_piece_file(plan.lower_case);
    case Scheme::byte_bpe:
      return byte_bpe_file();
    case Scheme::words:
      return words_file(plan.lower_case);
    case Scheme::split:
      return split_file(plan.lower_case);
  }
  throw std::invalid_argument("unknown tokenizer scheme");
}

json config_of(const TokenizerPlan& plan) {
  switch (plan.scheme) {
    case Scheme::word_piece:
      return {{"tokenizer_class", "BertTokenizerFast"},
              {"do_lower_case", plan.lower_case},
              {"pad_token", "[PAD]"},
              {"unk_token", "[UNK]"},
              {"cls_token", "[CLS]"},
              {"sep_token", "[SEP]"},
              {"mask_token", "[MASK]"}};
    case Scheme::byte_bpe:
      return {{"tokenizer_class", "GPT2TokenizerFast"},
              {"add_prefix_space", false},
              {"bos_token", "<|endoftext|>"},
              {"eos_token", "<|endoftext|>"},
              {"unk_token", "<|endoftext|>"}};
    case Scheme::words:
      return {{"tokenizer_class", "PreTrainedTokenizerFast"},
              {"bos_token", "<s>"},
              {"eos_token", "</s>"},
              {"pad_token", "<pad>"},
              {"unk_token", "<unk>"}};
    case Scheme::split:
      break;
  }
  return {{"tokenizer_class", "PreTrainedTokenizerFast"}, {"pad_token", "<pad>"}, {"unk_token", "<unk>"}};
}

void require_size(std::int64_t pieces, std::int64_t asked) {
  if (pieces > asked) {
    throw std::invalid_argument("a vocabulary of " + std::to_string(asked) +
                                " is too small: special tokens and bytes alone take " + std::to_string(pieces));
  }
  if (pieces < asked) {
    throw std::invalid_argument("the texts yield " + std::to_string(pieces) + " pieces, not " + std::to_string(asked) +
                                "; ask for at most " + std::to_string(pieces));
  }
}

}  // namespace

TokenizerFiles trained_tokenizer(const TokenizerPlan& plan, const NextText& next) {
  if (plan.vocabulary < 0 || plan.least_count < 1) {
    throw std::invalid_argument("the vocabulary must be 0 or more, and the least count 1 or more");
  }
  CrateText said;
  const json empty = empty_file(plan);
  const std::unique_ptr<AttnTrainer, FreeTrainer> trainer(attn_trainer_new(slice(empty.dump()), said.receive()));
  if (!trainer) throw std::logic_error("the tokenizers crate rejects an empty tokenizer: " + said.str());
  bool any = false;
  while (const std::optional<std::string> text = next()) {
    base::require_utf8(*text, "the text");
    CrateText problem;
    if (!attn_trainer_add(trainer.get(), slice(*text), problem.receive())) {
      throw std::invalid_argument("cannot learn from a text: " + problem.str());
    }
    any = any || text->find_first_not_of(" \t\r\n") != std::string::npos;
  }
  if (!any) throw std::invalid_argument("there is no text to learn a vocabulary from");
  const std::size_t most =
      plan.vocabulary == 0 ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(plan.vocabulary);
  CrateText json_or_error;
  const std::int64_t pieces =
      attn_trainer_finish(trainer.get(), most, static_cast<std::uint64_t>(plan.least_count), json_or_error.receive());
  if (pieces < 0) throw std::invalid_argument("cannot learn a vocabulary: " + json_or_error.str());
  if (plan.vocabulary != 0) require_size(pieces, plan.vocabulary);
  return {json_or_error.str(), config_of(plan).dump(2) + "\n"};
}

Tokenizer load_tokenizer(const TokenizerFiles& files) {
  const std::array<base::BuiltInFile, 2> both = {
      {{"tokenizer.json", files.tokenizer}, {"tokenizer_config.json", files.config}}};
  return Tokenizer::load(base::Folder(base::BuiltInFolder{"trained tokenizer", both}));
}

void train_tokenizer(const TokenizerPlan& plan, const NextText& next, const std::filesystem::path& folder) {
  const TokenizerFiles files = trained_tokenizer(plan, next);
  base::write_file(folder / "tokenizer.json", files.tokenizer);
  base::write_file(folder / "tokenizer_config.json", files.config);
}

}  // namespace attn::text
