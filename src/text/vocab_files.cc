#include "text/vocab_files.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.h"
#include "text/json_file.h"
#include "text/utf8.h"

namespace attn::text {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string read_text(const fs::path& file) {
  std::string text = read_file(file);
  if (const auto bad = first_bad_byte(text)) throw Error(file.string(), "not UTF-8", static_cast<std::int64_t>(*bad));
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

// The special tokens by role, and where their ids are to be found.
class Specials {
 public:
  Specials(const Settings& config, const json& vocab, fs::path file)
      : config_(config), vocab_(vocab), file_(std::move(file)) {}

  // The name that tokenizer_config.json gives, else `usual`, with its id.
  std::pair<std::string, std::int64_t> needed(const std::string& key, const std::string& usual) {
    const std::string name = config_.token(key).value_or(usual);
    const auto found = vocab_.find(name);
    if (found == vocab_.end()) throw Error(file_.string(), "lacks \"" + name + "\", the " + key);
    note(name, false);
    return {name, found->get<std::int64_t>()};
  }
  void wanted(const std::string& key, const std::string& usual, bool takes_space_before = false) {
    const std::string name = config_.token(key).value_or(usual);
    if (vocab_.contains(name)) note(name, takes_space_before);
  }

  // For "added_tokens". Those of added_tokens.json that the vocabulary lacks come last, in the order of their ids.
  json added_tokens(const fs::path& folder) {
    const Settings more(folder / "added_tokens.json");
    std::map<std::int64_t, std::string> later;
    for (const auto& [name, id] : more.values().items()) {
      if (!id.is_number_integer()) throw Error(more.file().string(), "the id of \"" + name + "\" should be a number");
      if (!vocab_.contains(name)) later.emplace(id.get<std::int64_t>(), name);
    }
    for (const auto& [id, name] : later) {
      if (id != static_cast<std::int64_t>(vocab_.size() + later_count_++)) {
        throw Error(more.file().string(), "the id of \"" + name + "\" should follow those of " + file_.string());
      }
      note(name, false);
    }
    return tokens_;
  }

 private:
  void note(const std::string& name, bool takes_space_before) {
    if (!names_.emplace(name, true).second) return;
    tokens_.push_back({{"id", tokens_.size()},  // of no meaning to the crate, which asks the vocabulary
                       {"content", name},
                       {"single_word", false},
                       {"lstrip", takes_space_before},
                       {"rstrip", false},
                       {"normalized", false},
                       {"special", true}});
  }

  const Settings& config_;
  const json& vocab_;
  fs::path file_;
  json tokens_ = json::array();
  std::map<std::string, bool> names_;
  std::size_t later_count_ = 0;
};

json tokenizer_json(json added, json model) {
  return {{"version", "1.0"},         {"truncation", nullptr},     {"padding", nullptr},
          {"normalizer", nullptr},    {"post_processor", nullptr}, {"added_tokens", std::move(added)},
          {"model", std::move(model)}};
}

json template_token(const std::string& name, int type) { return {{"SpecialToken", {{"id", name}, {"type_id", type}}}}; }
json template_text(const char* which, int type) { return {{"Sequence", {{"id", which}, {"type_id", type}}}}; }

// [CLS] A [SEP] and [CLS] A [SEP] B [SEP], the second part of token type 1.
json bert_template(const std::pair<std::string, std::int64_t>& cls, const std::pair<std::string, std::int64_t>& sep) {
  json known = json::object();
  for (const auto& [name, id] : {cls, sep}) {
    known[name] = {{"id", name}, {"ids", json::array({id})}, {"tokens", json::array({name})}};
  }
  const json single = json::array({template_token(cls.first, 0), template_text("A", 0), template_token(sep.first, 0)});
  json pair = single;
  pair.push_back(template_text("B", 1));
  pair.push_back(template_token(sep.first, 1));
  return {{"type", "TemplateProcessing"}, {"single", single}, {"pair", pair}, {"special_tokens", known}};
}

json read_vocab_json(const fs::path& file) {
  json vocab = parse_json(read_file(file), file);
  if (!vocab.is_object()) throw Error(file.string(), "should hold an object, {\"piece\": id, ...}");
  for (const auto& [piece, id] : vocab.items()) {
    if (!id.is_number_unsigned()) throw Error(file.string(), "the id of \"" + piece + "\" should be a number");
  }
  return vocab;
}

json read_merges(const fs::path& file) {
  const std::string text = read_text(file);
  json merges = json::array();
  std::size_t number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    if (line.empty() || line.starts_with("#version")) continue;
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
      throw Error(file.string(), "line " + std::to_string(number) + " should be two pieces with a space between them");
    }
    merges.push_back(json::array({line.substr(0, space), line.substr(space + 1)}));
  }
  return merges;
}

bool is_roberta(const Settings& config, const fs::path& folder) {
  const std::string type = Settings(folder / "config.json").string("model_type").value_or("");
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

Source wordpiece_source(const fs::path& folder) {
  const fs::path file = folder / "vocab.txt";
  const std::string text = read_text(file);
  json vocab = json::object();
  std::int64_t next = 0;
  for (const std::string_view line : lines_of(text)) vocab[std::string(line)] = next++;

  const Settings config(folder / "tokenizer_config.json");
  Specials specials(config, vocab, file);
  const auto unknown = specials.needed("unk_token", "[UNK]");
  const auto cls = specials.needed("cls_token", "[CLS]");
  const auto sep = specials.needed("sep_token", "[SEP]");
  specials.wanted("pad_token", "[PAD]");
  specials.wanted("mask_token", "[MASK]");
  json added = specials.added_tokens(folder);

  json all = tokenizer_json(std::move(added), {{"type", "WordPiece"},
                                               {"unk_token", unknown.first},
                                               {"continuing_subword_prefix", "##"},
                                               {"max_input_chars_per_word", 100},
                                               {"vocab", std::move(vocab)}});
  const auto strip_accents = config.boolean("strip_accents");
  all["normalizer"] = {{"type", "BertNormalizer"},
                       {"clean_text", true},
                       {"handle_chinese_chars", config.boolean("tokenize_chinese_chars").value_or(true)},
                       {"strip_accents", strip_accents ? json(*strip_accents) : json(nullptr)},
                       {"lowercase", config.boolean("do_lower_case").value_or(true)}};
  all["pre_tokenizer"] = {{"type", "BertPreTokenizer"}};
  all["post_processor"] = bert_template(cls, sep);
  all["decoder"] = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
  return {all.dump(), file};
}

Source byte_bpe_source(const fs::path& folder) {
  const fs::path file = folder / "vocab.json";
  json vocab = read_vocab_json(file);
  json merges = read_merges(folder / "merges.txt");
  const Settings config(folder / "tokenizer_config.json");
  const bool space_first = config.boolean("add_prefix_space").value_or(false);

  Specials specials(config, vocab, file);
  json post = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", false}, {"use_regex", true}};
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
  all["pre_tokenizer"] = {
      {"type", "ByteLevel"}, {"add_prefix_space", space_first}, {"trim_offsets", true}, {"use_regex", true}};
  all["post_processor"] = std::move(post);
  all["decoder"] = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}, {"use_regex", true}};
  return {all.dump(), file};
}

}  // namespace attn::text
