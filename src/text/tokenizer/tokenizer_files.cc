#include "text/tokenizer/tokenizer_files.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "attn/error.h"
#include "base/json_file.h"
#include "base/one_line.h"
#include "base/utf8.h"
#include "text/tokenizer/vocab_files.h"

namespace attn::text {
namespace {

using nlohmann::json;

// One kind of special token: its key in the files, and the usual names if no file sets it.
struct Role {
  std::int32_t SpecialIds::* id;
  const char* key;
  std::initializer_list<std::string_view> names;
};

const std::array<Role, 7>& roles() {
  static const std::array<Role, 7> all = {{
      {&SpecialIds::mask, "mask_token", {"[MASK]", "<mask>"}},
      {&SpecialIds::unknown, "unk_token", {"[UNK]", "<unk>"}},
      {&SpecialIds::pad, "pad_token", {"[PAD]", "<pad>"}},
      {&SpecialIds::bos, "bos_token", {"<s>", "<|begin_of_text|>", "<bos>", "<|endoftext|>"}},
      {&SpecialIds::eos, "eos_token", {"</s>", "<|end_of_text|>", "<eos>", "<|endoftext|>"}},
      {&SpecialIds::cls, "cls_token", {"[CLS]"}},
      {&SpecialIds::sep, "sep_token", {"[SEP]"}},
  }};
  return all;
}

std::int32_t find_role(const Role& role, std::initializer_list<const base::JsonSettings*> files, const Lookup& id_of) {
  for (const base::JsonSettings* settings : files) {
    if (!settings->has(role.key)) continue;
    const auto content = settings->token(role.key);
    if (!content) return -1;  // null: no such token
    if (const auto id = id_of(*content)) return *id;
  }
  for (const std::string_view name : role.names) {
    if (const auto id = id_of(name)) return *id;
  }
  return -1;
}

[[noreturn]] void refuse_folder(const base::Folder& folder) {
  if (!folder.is_folder()) throw Error(folder.shown(), "no such folder");
  for (const char* name : {"tokenizer.model", "spiece.model", "sentencepiece.bpe.model"}) {
    if (folder.has(name)) {
      throw Error(folder.shown(name),
                  "a SentencePiece file without tokenizer.json; create one with transformers: "
                  "AutoTokenizer.from_pretrained(folder).save_pretrained(folder)");
    }
  }
  throw Error(folder.shown(), "has no tokenizer: no tokenizer.json, no vocab.txt, no vocab.json with merges.txt");
}

}  // namespace

TokenizerSource tokenizer_source(const base::Folder& folder) {
  if (folder.has("tokenizer.json")) {
    TokenizerSource source{folder.read("tokenizer.json"), folder.shown("tokenizer.json")};
    base::check_json(source.json, source.file);  // the crate parses it by recursion
    return source;
  }
  if (folder.has("vocab.txt")) return wordpiece_source(folder);
  if (folder.has("vocab.json") && folder.has("merges.txt")) return byte_bpe_source(folder);
  refuse_folder(folder);
}

void explain_failure(const TokenizerSource& source, const std::string& reason) {
  const std::string& path = source.file;
  if (const auto bad = base::first_bad_byte(source.json)) {
    throw Error(path, "not UTF-8", static_cast<std::int64_t>(*bad));
  }
  const json file = base::parse_json(source.json, source.file);
  if (!file.is_object()) throw Error(path, "must be a JSON object, {...}");
  const auto model = file.find("model");
  if (model == file.end() || !model->is_object()) throw Error(path, "must have a \"model\" that is an object");
  if (const auto type = model->find("type"); type != model->end()) {
    const std::string name = type->is_string() ? type->get<std::string>() : type->dump();
    if (name != "BPE" && name != "Unigram" && name != "WordLevel" && name != "WordPiece") {
      throw Error(path,
                  "unknown model type \"" + base::one_line(name) + "\"; known: BPE, Unigram, WordLevel, WordPiece");
    }
  }
  throw Error(path, "cannot be loaded as a tokenizer: " + reason);
}

SpecialIds special_ids(const base::Folder& folder, const Lookup& id_of) {
  const base::JsonSettings config(folder, "tokenizer_config.json");
  const base::JsonSettings map(folder, "special_tokens_map.json");
  SpecialIds ids;
  for (const Role& role : roles()) ids.*role.id = find_role(role, {&config, &map}, id_of);
  return ids;
}

}  // namespace attn::text
