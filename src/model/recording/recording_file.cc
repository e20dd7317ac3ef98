// model/recording/recording_file.cc - writes .attn files; recording_file_load.cc reads them.
#include "model/recording/recording_file.h"

#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attn/ring.h"
#include "base/utf8.h"
#include "engine/runtime/copy_bytes.h"
#include "model/files/safetensors.h"
#include "model/files/safetensors_distributed.h"
#include "model/recording/recording_format.h"

namespace attn::model {

namespace {

using Json = nlohmann::ordered_json;
namespace format = recording_format;

Json tokens_json(const std::vector<text::Token>& tokens) {
  Json list = Json::array();
  for (const text::Token& token : tokens) {
    list.push_back({{"id", token.id},
                    {"piece", token.piece},
                    {"text", token.text},
                    {"span", {token.span.from, token.span.to}},
                    {"sequence", token.sequence},
                    {"word", token.word ? Json(*token.word) : Json(nullptr)},
                    {"special", token.special}});
  }
  return list;
}

Json or_null(const std::optional<std::string>& text) { return text ? Json(*text) : Json(nullptr); }

// Number of queries and keys of the whole text.
Shape<2> whole_of(const Recording& recording, Kind kind) {
  return {std::ssize(recording.queries(kind)), std::ssize(recording.keys(kind))};
}

// Refuses recordings that could not be loaded again.
void check_storable(const Recording& recording, const Ranks& ranks) {
  const AttentionLog& log = recording.log;
  if (log.attentions().empty()) throw std::invalid_argument("nothing was recorded, so there is nothing to save");
  for (const AttentionRecord& a : log.attentions()) {
    const Shape<2> rows{a.queries, a.keys};
    if (log.size(a.kind) != rows)
      throw std::invalid_argument("a recording of several texts cannot be saved; record one text at a time");
    const auto [queries, keys] = whole_of(recording, a.kind);
    const auto share = [&](std::int64_t all) { return RingSplit(all, ranks.size()).size(ranks.rank()); };
    if (std::min(queries, keys) < ranks.size() || Shape<2>{share(queries), share(keys)} != rows)
      throw std::invalid_argument("the recording's " + std::to_string(a.queries) + " queries and " +
                                  std::to_string(a.keys) + " keys do not match its tokens, so it cannot be saved");
  }
}

// Collects the file's contents. Numbers are not copied; they are written from where they are.
class Contents {
 public:
  explicit Contents(const Recording& recording) : recording_(recording) {
    const auto& all = recording.log.attentions();
    const auto every = [&](const nn::Matrix AttentionRecord::* part) {
      return std::ranges::none_of(all, [&](const AttentionRecord& a) { return (a.*part).empty(); });
    };
    keep_.values = every(&AttentionRecord::v);
    keep_.inputs = every(&AttentionRecord::x);
    keep_.value_norms = every(&AttentionRecord::value_norms);
    keep_.hidden = !recording.log.hidden().empty();
  }

  Json attentions() {
    Json list = Json::array();
    for (const AttentionRecord& a : recording_.log.attentions()) list.push_back(attention(a));
    return list;
  }

  // Adds all tensors; for callers that do not need the metadata.
  void add_all() {
    for (const AttentionRecord& a : recording_.log.attentions()) static_cast<void>(attention(a));
    add_hidden();
  }

  void add_hidden() {
    for (const bool decoder : {false, true}) {
      const auto& states = recording_.log.hidden(decoder);
      const std::int64_t rows = std::ssize(decoder ? recording_.target : recording_.tokens);
      for (std::size_t i = 0; i < states.size(); ++i) add_rows(format::hidden_name(decoder, i), states[i], rows);
      const nn::Matrix& output = decoder ? recording_.target_hidden : recording_.hidden;
      if (!output.empty()) add_rows(format::output_name(decoder), output, rows);
    }
    if (!recording_.induction.empty()) add_table(format::kInduction, recording_.induction);
  }

  [[nodiscard]] Json kept() const {
    Json words = Json::array();
    if (keep_.values) words.push_back(format::kValues);
    if (keep_.inputs) words.push_back(format::kInputs);
    if (keep_.value_norms) words.push_back(format::kValueNorms);
    if (keep_.hidden) words.push_back(format::kHidden);
    return words;
  }

  [[nodiscard]] const std::vector<PartToStore>& tensors() const noexcept { return tensors_; }
  [[nodiscard]] std::int64_t version() const noexcept { return version_; }

 private:
  Json attention(const AttentionRecord& a) {
    const auto name = [&](const char* part) { return format::tensor_name(a.kind, a.layer, part); };
    const auto [queries, keys] = whole_of(recording_, a.kind);
    add_rows(name("q"), a.q, queries);
    add_rows(name("k"), a.k, keys);
    add_columns(name("lse"), dense_lse(a), queries);
    if (keep_.values) add_rows(name("v"), a.v, keys);
    if (keep_.inputs) add_rows(name("x"), a.x, queries);
    if (keep_.value_norms) add_columns(name("value_norms"), a.value_norms, keys);
    Json object = {{"kind", name_of(a.kind)},
                   {"layer", a.layer},
                   {"heads", a.shape.heads},
                   {"key_heads", a.shape.key_heads},
                   {"width", a.shape.width},
                   {"queries", queries},
                   {"keys", keys},
                   {"scale", a.rule.scale},
                   {"mask", a.rule.mask().text()},
                   {"causal", a.rule.causal},
                   {"window", a.rule.window},
                   {"bias", bias(a)}};
    add_rule(object, a);
    return object;
  }

  // Writes the keys that older format versions lack.
  void add_rule(Json& object, const AttentionRecord& a) {
    const Rule& rule = a.rule;
    if (rule.softcap != 0) object["softcap"] = rule.softcap;
    if (!rule.also.everything()) object["also"] = rule.also.text();
    if (rule.distance_bias) object["distance_bias"] = shared(rule.distance_bias.get(), a, "distance_bias");
    if (rule.sink) object["sink"] = shared(rule.sink.get(), a, "sink");
    const bool plain = rule.softcap == 0 && rule.also.everything() && !rule.distance_bias && !rule.sink &&
                       (rule.causal || rule.window == 0);
    if (!plain) version_ = format::kVersion;
  }

  // A table that several layers share is written once, under the first layer's name.
  std::string shared(const nn::Matrix* table, const AttentionRecord& a, const char* part) {
    auto [known, fresh] = shared_names_.emplace(table, format::tensor_name(a.kind, a.layer, part));
    if (fresh) add_table(known->second, *table);
    return known->second;
  }

  Json bias(const AttentionRecord& a) {
    if (a.rule.bias == nullptr) return nullptr;
    const T5Buckets& rule = a.rule.bias->rule;
    return {{"tensor", shared(&a.rule.bias->table, a, "bias")},
            {"bidirectional", rule.bidirectional},
            {"buckets", rule.buckets},
            {"max_distance", rule.max_distance}};
  }

  // Numbers of which this process holds all rows or columns, or only some.
  void add_rows(std::string name, const nn::Matrix& numbers, std::int64_t rows) {
    add(std::move(name), {rows, numbers.columns()}, numbers, PartToStore::Split::rows);
  }
  void add_columns(std::string name, const nn::Matrix& numbers, std::int64_t columns) {
    add(std::move(name), {numbers.rows(), columns}, numbers, PartToStore::Split::columns);
  }
  void add_table(std::string name, const nn::Matrix& numbers) {
    add(std::move(name), {numbers.rows(), numbers.columns()}, numbers, PartToStore::Split::none);
  }
  void add(std::string name, Shape<2> whole, const nn::Matrix& numbers, PartToStore::Split split) {
    tensors_.push_back({{std::move(name), Dtype::f32, {whole[0], whole[1]}, numbers.data()}, split});
  }

  // lse of an attention. A text that grew token by token leaves spare columns at the end of each row; only these
  // numbers are copied.
  const nn::Matrix& dense_lse(const AttentionRecord& a) {
    if (a.lse.columns() == a.queries) return a.lse;
    nn::Matrix& copy = copies_.emplace_back(a.lse.rows(), a.queries);
    for (std::int64_t h = 0; h < a.lse.rows(); ++h)
      copy_bytes(copy.row(h), a.lse.row(h), static_cast<std::size_t>(a.queries) * sizeof(float));
    return copy;
  }

  const Recording& recording_;
  Keep keep_;
  std::vector<PartToStore> tensors_;
  std::deque<nn::Matrix> copies_;  // a deque, so that addresses stay valid
  std::map<const nn::Matrix*, std::string> shared_names_;
  std::int64_t version_ = format::kPlainVersion;
};

using Metadata = std::map<std::string, std::string, std::less<>>;

// The metadata. Also completes the tensors.
Metadata metadata_of(const Recording& recording, Contents& contents) {
  const Origin& origin = recording.origin;
  Json object = {{"model", base::replace_bad_bytes(origin.model)},
                 {"type", origin.type},
                 {"form", name_of(origin.form)},
                 {"text", origin.text.text},
                 {"pair", or_null(origin.text.pair)},
                 {"target", or_null(origin.text.target)},
                 {"tokens", tokens_json(recording.tokens)},
                 {"target_tokens", tokens_json(recording.target)},
                 {"written_tokens", tokens_json(recording.written)},
                 {"kept", contents.kept()},
                 {"attentions", contents.attentions()}};
  contents.add_hidden();
  return {{format::kFormatKey, format::kFormat},
          {format::kVersionKey, std::to_string(contents.version())},
          {format::kProgramKey, "attnscope " ATTNSCOPE_VERSION},
          {format::kContents, object.dump()}};
}

}  // namespace

void save_recording(const Recording& recording, const std::filesystem::path& file,
                    const std::function<void()>& between) {
  save_recording(*alone(), recording, file, between);
}

void save_recording(Ranks& ranks, const Recording& recording, const std::filesystem::path& file,
                    const std::function<void()>& between) {
  check_storable(recording, ranks);
  Contents contents(recording);
  Metadata metadata;
  if (ranks.rank() == 0)
    metadata = metadata_of(recording, contents);
  else
    contents.add_all();
  write_safetensors(ranks, file, contents.tensors(), metadata, between);
}

void write_recording(const Recording& recording, const std::function<void(std::string_view)>& write) {
  check_storable(recording, *alone());
  Contents contents(recording);
  const Metadata metadata = metadata_of(recording, contents);
  std::vector<TensorToStore> tensors;
  for (const PartToStore& part : contents.tensors()) tensors.push_back(part.whole);
  write_safetensors(write, tensors, metadata);
}

}  // namespace attn::model
