#include "text/tokenizer/vocab_files.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.h"
#include "base/json_file.h"
#include "base/one_line.h"
#include "base/utf8.h"
#include "text/tokenizer/tokenizer_json.h"

namespace attn::text {
namespace {

using nlohmann::json;

std::string read_text(const base::Folder& folder, const std::string& file) {
  std::string text = folder.read(file);
  if (const auto bad = base::first_bad_byte(text))
    throw Error(folder.shown(file), "not UTF-8", static_cast<std::int64_t>(*bad));
  return text;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// The special tokens by role, and their ids.
class Specials {
 public:
  Specials(const base::JsonSettings& config, const json& vocab, std::string file)
      : config_(config), vocab_(vocab), file_(std::move(file)) {}

  // The name from tokenizer_config.json, else `usual`, with its id.
  std::pair<std::string, std::int64_t> needed(const std::string& key, const std::string& usual) {
    const std::string name = config_.token(key).value_or(usual);
    const auto found = vocab_.find(name);
    if (found == vocab_.end()) throw Error(file_, "has no \"" + base::one_line(name) + "\", the " + key);
    note(name, false);
    return {name, found->get<std::int64_t>()};
  }
  void wanted(const std::string& key, const std::string& usual, bool takes_space_before = false) {
    const std::string name = config_.token(key).value_or(usual);
    if (vocab_.contains(name)) note(name, takes_space_before);
  }

  // For "added_tokens". Tokens of added_tokens.json that the vocabulary lacks come last, by id.
  json added_tokens(const base::Folder& folder) {
    const base::JsonSettings more(folder, "added_tokens.json");
    std::map<std::int64_t, std::string> later;
    for (const auto& [name, id] : more.values().items()) {
      if (!id.is_number_integer())
        throw Error(more.file(), "the id of \"" + base::one_line(name) + "\" must be a number");
      if (!vocab_.contains(name)) later.emplace(id.get<std::int64_t>(), name);
    }
    for (const auto& [id, name] : later) {
      if (id != static_cast<std::int64_t>(vocab_.size() + later_count_++)) {
        throw Error(more.file(), "the id of \"" + base::one_line(name) + "\" must follow those of " + file_);
      }
      note(name, false);
    }
    return tokens_;
  }

 private:
  void note(const std::string& name, bool takes_space_before) {
    if (!names_.emplace(name, true).second) return;
    json token = special_token(static_cast<std::int64_t>(tokens_.size()), name);
    token["lstrip"] = takes_space_before;
    tokens_.push_back(std::move(token));
  }

  const base::JsonSettings& config_;
  const json& vocab_;
  std::string file_;
  json tokens_ = json::array();
  std::map<std::string, bool> names_;
  std::size_t later_count_ = 0;
};

json read_vocab_json(const base::Folder& folder, const std::string& name) {
  const std::string file = folder.shown(name);
  json vocab = base::parse_json(folder.read(name), file);
  if (!vocab.is_object()) throw Error(file, "must be an object, {\"piece\": id, ...}");
  for (const auto& [piece, id] : vocab.items()) {
    if (!id.is_number_unsigned()) throw Error(file, "the id of \"" + base::one_line(piece) + "\" must be a number");
  }
  return vocab;
}

json read_merges(const base::Folder& folder, const std::string& name) {
  const std::string text = read_text(folder, name);
  json merges = json::array();
  std::size_t number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    if (line.empty() || line.starts_with("#version")) continue;
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
      throw Error(folder.shown(name), "line " + std::to_string(number) + " must be two pieces separated by a space");
    }
    merges.push_back(json::array({line.substr(0, space), line.substr(space + 1)}));
  }
  return merges;
}

bool is_roberta(const base::JsonSettings& config, const base::Folder& folder) {
  const std::string type = base::JsonSettings(folder, "config.json").string("model_type").value_or("");
  const std::string name = config.string("tokenizer_class").value_or("");
  for (const char* known : {"roberta", "bart", "longformer", "led"}) {
    if (type == known) return true;
  }
  for (const char* known : {"Roberta", "Bart", "Longformer", "LED"}) {
    if (name.starts_with(known)) return true;
  }
  return false;
}

}  // namespace

TokenizerSource wordpiece_source(const base::Folder& folder) {
  const std::string text = read_text(folder, "vocab.txt");
  json vocab = json::object();
  std::int64_t next = 0;
  for (const std::string_view line : lines_of(text)) vocab[std::string(line)] = next++;

  const std::string file = folder.shown("vocab.txt");
  const base::JsonSettings config(folder, "tokenizer_config.json");
  Specials specials(config, vocab, file);
  const auto unknown = specials.needed("unk_token", "[UNK]");
  const auto cls = specials.needed("cls_token", "[CLS]");
  const auto sep = specials.needed("sep_token", "[SEP]");
  specials.wanted("pad_token", "[PAD]");
  specials.wanted("mask_token", "[MASK]");
  json added = specials.added_tokens(folder);

  json all = tokenizer_json(std::move(added), word_piece_model(unknown.first, std::move(vocab)));
  all["normalizer"] = bert_normalizer(config.boolean("do_lower_case").value_or(true));
  all["normalizer"]["handle_chinese_chars"] = config.boolean("tokenize_chinese_chars").value_or(true);
  if (const auto strip = config.boolean("strip_accents")) all["normalizer"]["strip_accents"] = *strip;
  all["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  all["post_processor"] = bert_template(cls, sep);
  all["decoder"] = word_piece_decoder();
  return {all.dump(), file};
}

TokenizerSource byte_bpe_source(const base::Folder& folder) {
  const std::string file = folder.shown("vocab.json");
  json vocab = read_vocab_json(folder, "vocab.json");
  json merges = read_merges(folder, "merges.txt");
  const base::JsonSettings config(folder, "tokenizer_config.json");
  const bool space_first = config.boolean("add_prefix_space").value_or(false);

  Specials specials(config, vocab, file);
  json post = byte_level(true, false);
  if (is_roberta(config, folder)) {
    const auto cls = specials.needed("cls_token", "<s>");
    const auto sep = specials.needed("sep_token", "</s>");
    specials.wanted("pad_token", "<pad>");
    specials.wanted("unk_token", "<unk>");
    specials.wanted("mask_token", "<mask>", true);
    post = {{"type", "RobertaProcessing"},
            {"sep", json::array({sep.first, sep.second})},
            {"cls", json::array({cls.first, cls.second})},
            {"trim_offsets", true},
            {"add_prefix_space", space_first}};
  } else {
    for (const char* key : {"bos_token", "eos_token", "unk_token", "pad_token"}) specials.wanted(key, "<|endoftext|>");
  }
  json added = specials.added_tokens(folder);

  json all =
      tokenizer_json(std::move(added), {{"type", "BPE"}, {"vocab", std::move(vocab)}, {"merges", std::move(merges)}});
  all["pre_tokenizer"] = byte_level(space_first, true);
  all["post_processor"] = std::move(post);
  all["decoder"] = byte_level(true, true);
  return {all.dump(), file};
}

}  // namespace attn::text
