// model/recording/recording_file_load.cc - loads .attn files. Every value is checked against another one in the file
// before it is used.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.h"
#include "attn/ring.h"
#include "base/hash.h"
#include "base/one_line.h"
#include "engine/runtime/copy_bytes.h"
#include "model/files/config.h"
#include "model/files/safetensors.h"
#include "model/files/safetensors_distributed.h"
#include "model/recording/recording_file.h"
#include "model/recording/recording_format.h"

namespace attn::model {

namespace {

namespace format = recording_format;

using Split = PartToStore::Split;

constexpr std::int64_t kAny = -1;             // any number of rows or columns
constexpr std::int64_t kMostHeads = 1 << 20;  // keeps products of a file's sizes from overflowing
constexpr std::int64_t kMostWindow = std::int64_t{1} << 40;

const std::string& metadata(const SafeTensors& file, const char* key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end())
    throw Error(file.path(), std::string("is not a recording: its metadata has no ") + base::in_quotes(key));
  return found->second;
}

std::int64_t version_of(const SafeTensors& file) {
  const auto named = file.metadata().find(format::kFormatKey);
  if (named == file.metadata().end() || named->second != format::kFormat)
    throw Error(file.path(), std::string("is not a recording: its metadata does not have format ") +
                                 base::in_quotes(format::kFormat) + "; create one with attnscope record");
  const std::string& text = metadata(file, format::kVersionKey);
  std::int64_t version = -1;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (problem == std::errc::result_out_of_range) version = std::numeric_limits<std::int64_t>::max();
  if (stop != text.data() + text.size() || version < 0)
    throw Error(file.path(),
                std::string(format::kVersionKey) + " is " + base::in_quotes(text) + "; a number is needed");
  if (version > format::kVersion)
    throw Error(file.path(), "was written by a newer attnscope (format " + base::one_line(text) +
                                 "); this one reads up to " + std::to_string(format::kVersion));
  return version;
}

std::optional<std::string> text_or_none(const Config& from, const char* name) {
  return from.has({name}) ? std::optional(from.text({name})) : std::nullopt;
}

class RecordingLoader {
 public:
  RecordingLoader(const std::filesystem::path& file, const Ranks& ranks)
      : ranks_(ranks),
        file_(SafeTensors::open(file)),
        version_(version_of(file_)),
        contents_(Config::parse(metadata(file_, format::kContents),
                                file_.path() + ": metadata " + base::in_quotes(format::kContents))) {}

  Recording run() {
    Recording recording;
    recording.origin = origin();
    recording.tokens = tokens("tokens");
    recording.target = tokens("target_tokens");
    recording.written = written(recording.target);
    const Keep keep = kept();
    recording.log = AttentionLog(keep);
    for (const Config& one : contents_.children({"attentions"})) {
      AttentionRecord record = attention(one, keep);
      check_place(one, record, recording);
      const Shape<2> whole{record.queries, record.keys};
      record.queries = share_of(record.queries);
      record.keys = share_of(record.keys);
      try {
        recording.log.insert(std::move(record), whole);
      } catch (const std::invalid_argument& wrong) {
        fail(one, base::one_line(wrong.what()));
      }
    }
    if (recording.log.attentions().empty()) throw Error(contents_.path(), "attentions are missing");
    take_states(recording);
    for (const auto& [name, tensor] : file_.tensors()) {
      if (!taken_.contains(name))
        throw Error(file_.path(), "tensor " + base::in_quotes(name) + " is not mentioned in the metadata",
                    tensor.offset);
    }
    return recording;
  }

  // Equal for files with the same metadata.
  [[nodiscard]] std::string fingerprint() const {
    return std::to_string(file_.bytes()) + " " + std::to_string(base::hash_of(metadata(file_, format::kContents)));
  }

 private:
  [[noreturn]] static void fail(const Config& at, const std::string& problem) { throw Error(at.path(), problem); }

  static std::int64_t between(const Config& from, const char* name, std::int64_t least, std::int64_t most) {
    const std::int64_t value = from.integer({name});
    if (value < least || value > most)
      fail(from, from.place(name) + " is " + std::to_string(value) + "; " + std::to_string(least) + " to " +
                     std::to_string(most) + " is allowed");
    return value;
  }

  [[nodiscard]] Origin origin() const {
    const std::string form = contents_.text({"form"});
    for (const Form known : {Form::encoder, Form::decoder, Form::encoder_decoder}) {
      if (name_of(known) != form) continue;
      return {contents_.text({"model"}),
              contents_.text({"type"}),
              known,
              {contents_.text({"text"}), text_or_none(contents_, "pair"), text_or_none(contents_, "target")}};
    }
    fail(contents_, "form is " + base::in_quotes(form) + "; 'encoder', 'decoder' or 'encoder-decoder' is needed");
  }

  [[nodiscard]] std::vector<text::Token> tokens(const char* name) const {
    std::vector<text::Token> tokens;
    if (version_ == 0) {  // each token is its own word, and ids are unknown
      for (std::string& text : contents_.texts({name})) {
        text::Token& token = tokens.emplace_back();
        token.id = -1;
        token.piece = text;
        token.text = std::move(text);
        token.word = std::ssize(tokens) - 1;
      }
      return tokens;
    }
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    for (const Config& one : contents_.children({name})) {
      text::Token& token = tokens.emplace_back();
      token.id = static_cast<std::int32_t>(between(one, "id", -1, kMost));
      token.piece = one.text({"piece"});
      token.text = one.text({"text"});
      const std::vector<std::int64_t> span = one.integers({"span"});
      if (span.size() != 2 || span[0] < 0 || span[1] < span[0]) fail(one, one.place("span") + " is not [from, to]");
      token.span = {span[0], span[1]};
      token.sequence = static_cast<std::int32_t>(between(one, "sequence", 0, kMost));
      if (one.has({"word"})) token.word = between(one, "word", 0, std::numeric_limits<std::int64_t>::max());
      token.special = one.flag({"special"}, false);
    }
    return tokens;
  }

  [[nodiscard]] std::vector<text::Token> written(const std::vector<text::Token>& target) const {
    std::vector<text::Token> all;
    if (version_ >= 2) {
      all = tokens("written_tokens");
      if (all.size() != target.size())
        fail(contents_, "there are " + std::to_string(all.size()) + " written_tokens, but " +
                            std::to_string(target.size()) +
                            " target_tokens; each decoder row reads one and writes one");
    } else if (!target.empty()) {  // version 1 does not know what the last row writes
      all.assign(target.begin() + 1, target.end());
      text::Token& last = all.emplace_back();
      last.id = -1;
      last.piece = last.text = "?";
      last.special = true;  // belongs to no word
    }
    return all;
  }

  [[nodiscard]] Keep kept() const {
    Keep keep;
    for (const std::string& word : contents_.texts({"kept"})) {
      bool* const known = word == format::kValues       ? &keep.values
                          : word == format::kInputs     ? &keep.inputs
                          : word == format::kValueNorms ? &keep.value_norms
                          : word == format::kHidden     ? &keep.hidden
                                                        : nullptr;
      if (known == nullptr) fail(contents_, "kept has the unknown name " + base::in_quotes(word));
      *known = true;
    }
    return keep;
  }

  AttentionRecord attention(const Config& from, const Keep& keep) {
    AttentionRecord a;
    const std::string kind = from.text({"kind"});
    const std::optional<Kind> known = parse_kind(kind);
    if (!known)
      fail(from, from.place("kind") + " is " + base::in_quotes(kind) + "; 'self', 'decoder' or 'cross' is needed");
    a.kind = *known;
    a.layer = between(from, "layer", 0, kMostHeads);
    a.shape.heads = between(from, "heads", 1, kMostHeads);
    a.shape.key_heads = between(from, "key_heads", 1, kMostHeads);
    if (a.shape.heads % a.shape.key_heads != 0)
      fail(from, from.place("key_heads") + ": " + std::to_string(a.shape.heads) + " query heads cannot share " +
                     std::to_string(a.shape.key_heads) + " key heads");
    a.shape.width = between(from, "width", 1, kMaxWidth);
    a.queries = between(from, "queries", 1, std::numeric_limits<std::int32_t>::max());
    a.keys = between(from, "keys", 1, std::numeric_limits<std::int32_t>::max());
    a.rule = rule(from, a.shape.heads);
    const auto name = [&](const char* part) { return format::tensor_name(a.kind, a.layer, part); };
    a.q = take(name("q"), a.queries, a.shape.query_columns(), Split::rows);
    a.k = take(name("k"), a.keys, a.shape.key_columns(), Split::rows);
    a.lse = take(name("lse"), a.shape.heads, a.queries, Split::columns);
    if (keep.values) a.v = take(name("v"), a.keys, a.shape.key_columns(), Split::rows);
    if (keep.inputs) a.x = take(name("x"), a.queries, kAny, Split::rows);
    if (keep.value_norms) a.value_norms = take(name("value_norms"), a.shape.heads, a.keys, Split::columns);
    return a;
  }

  Rule rule(const Config& from, std::int64_t heads) {
    Rule rule;
    rule.causal = from.flag({"causal"}, false);
    rule.window = between(from, "window", 0, kMostWindow);
    if (rule.window > 0 && !rule.causal && version_ < 3)
      fail(from, from.place("window") + " is " + std::to_string(rule.window) + "; only a causal mask has one");
    rule.scale = static_cast<float>(from.number({"scale"}));
    if (!std::isfinite(rule.scale)) fail(from, from.place("scale") + " is not finite");
    if (version_ >= 3) add_rule(from, heads, rule);
    const std::string mask = from.text({"mask"});
    if (mask != rule.mask().text())
      fail(from, from.place("mask") + " is " + base::in_quotes(mask) + ", but causal and window say " +
                     base::in_quotes(rule.mask().text()));
    if (const auto described = from.child({"bias"})) rule.bias = bias(*described, heads);
    return rule;
  }

  void add_rule(const Config& from, std::int64_t heads, Rule& rule) {
    rule.softcap = static_cast<float>(from.number({"softcap"}, 0));
    if (!std::isfinite(rule.softcap) || rule.softcap < 0) fail(from, from.place("softcap") + " must be 0 or above");
    try {
      if (from.has({"also"})) rule.also = parse_mask(from.text({"also"}));
    } catch (const std::invalid_argument& wrong) {
      fail(from, from.place("also") + ": " + base::one_line(wrong.what()));
    }
    const std::int64_t distances = from.integer({"queries"}) + from.integer({"keys"}) - 1;
    if (from.has({"distance_bias"})) rule.distance_bias = shared(from.text({"distance_bias"}), kAny, distances);
    if (from.has({"sink"})) rule.sink = shared(from.text({"sink"}), 1, heads);
  }

  // A table that several layers may share.
  std::shared_ptr<const nn::Matrix> shared(const std::string& name, std::int64_t rows, std::int64_t columns) {
    std::shared_ptr<const nn::Matrix>& known = tables_[name];
    if (known == nullptr) known = std::make_shared<const nn::Matrix>(take(name, rows, columns));
    return known;
  }

  std::shared_ptr<const BucketBias> bias(const Config& from, std::int64_t heads) {
    const std::string name = from.text({"tensor"});
    T5Buckets rule;
    rule.bidirectional = from.flag({"bidirectional"}, false);
    rule.buckets = between(from, "buckets", 1, kMostHeads);
    rule.max_distance = from.integer({"max_distance"});
    try {
      t5_bucket(0, rule);
    } catch (const std::invalid_argument& wrong) {
      fail(from, from.place("buckets") + ": " + base::one_line(wrong.what()));
    }
    std::shared_ptr<const BucketBias>& known = biases_[name];
    if (known == nullptr) known = std::make_shared<BucketBias>(BucketBias{take(name, rule.buckets, heads), rule});
    if (known->rule.bidirectional != rule.bidirectional || known->rule.buckets != rule.buckets ||
        known->rule.max_distance != rule.max_distance || known->table.columns() != heads)
      fail(from,
           from.place("tensor") + ": two attentions share " + base::in_quotes(name) + " and describe it differently");
    return known;
  }

  // Checks the attention against the tokens and the previous layers: each layer comes once, in order, with its stack's
  // shape.
  static void check_place(const Config& from, const AttentionRecord& a, const Recording& recording) {
    const AttentionLog& log = recording.log;
    const std::string where = std::string(name_of(a.kind)) + " layer " + std::to_string(a.layer);
    const auto agree = [&](const char* what, std::int64_t found, std::int64_t needed, const char* because) {
      if (found != needed)
        fail(from, where + " has " + std::to_string(found) + " " + what + "; " + because + std::to_string(needed));
    };
    if (a.layer != log.layers(a.kind))
      fail(from, where + " found where layer " + std::to_string(log.layers(a.kind)) + " was expected");
    agree("queries", a.queries, std::ssize(recording.queries(a.kind)), "its tokens are ");
    agree("keys", a.keys, std::ssize(recording.keys(a.kind)), "its tokens are ");
    if (a.layer > 0) agree("heads", a.shape.heads, log.attention(a.kind, 0).shape.heads, "layer 0 has ");
  }

  void take_states(Recording& recording) {
    for (const bool decoder : {false, true}) {
      const std::int64_t rows = std::ssize(decoder ? recording.target : recording.tokens);
      const std::int64_t layers = recording.log.layers(decoder ? Kind::decoder : Kind::self);
      for (std::int64_t i = 0; recording.log.keep().hidden && layers > 0 && i <= layers; ++i) {
        const auto index = static_cast<std::size_t>(i);
        recording.log.add_hidden(decoder, index,
                                 take(format::hidden_name(decoder, index), rows, kAny, Split::rows).view());
      }
      nn::Matrix& output = decoder ? recording.target_hidden : recording.hidden;
      if (has(format::output_name(decoder))) output = take(format::output_name(decoder), rows, kAny, Split::rows);
    }
    const AttentionRecord* const first =
        recording.log.has(Kind::self) ? &recording.log.attention(Kind::self, 0) : nullptr;
    if (first != nullptr) recording.changes.also = first->rule.also;
    if (!has(format::kInduction)) return;
    recording.induction = take(format::kInduction, recording.log.layers(Kind::self), first ? first->shape.heads : 0);
  }

  [[nodiscard]] bool has(std::string_view name) const { return file_.tensors().contains(name); }

  // Number of rows of so many that belong to this rank.
  [[nodiscard]] std::int64_t share_of(std::int64_t rows) const {
    return RingSplit(rows, ranks_.size()).size(ranks_.rank());
  }

  // Checks the whole tensor, then takes this rank's part if it is split.
  nn::Matrix take(const std::string& name, std::int64_t rows, std::int64_t columns, Split split = Split::none) {
    const auto found = file_.tensors().find(name);
    if (found == file_.tensors().end()) throw Error(file_.path(), "tensor " + base::in_quotes(name) + " is missing");
    const StoredTensor& tensor = found->second;
    if (tensor.dtype != Dtype::f32)
      throw Error(
          file_.path(),
          "tensor " + base::in_quotes(name) + " holds " + std::string(name_of(tensor.dtype)) + "; F32 is needed",
          tensor.offset);
    const std::vector<std::int64_t> needed = {rows, columns};
    const auto agrees = [](std::int64_t size, std::int64_t wanted) {
      return wanted == kAny ? size > 0 : size == wanted;
    };
    const bool fits = tensor.shape.size() == 2 && agrees(tensor.shape[0], rows) && agrees(tensor.shape[1], columns);
    if (!fits)
      throw Error(file_.path(),
                  "tensor " + base::in_quotes(name) + " is " + shape_text(tensor.shape) + "; the metadata requires " +
                      shape_text(needed),
                  tensor.offset);
    taken_.insert(name);
    nn::Matrix numbers = part_of(tensor, split);
    file_.release(tensor);
    return numbers;
  }

  [[nodiscard]] nn::Matrix part_of(const StoredTensor& tensor, Split split) const {
    const std::int64_t all_rows = tensor.shape[0], all_columns = tensor.shape[1];
    const auto mine = [&](std::int64_t length, bool divided) -> std::array<Stretch, 2> {
      if (divided) return RingSplit(length, ranks_.size()).of(ranks_.rank());
      return {Stretch{0, length}, Stretch{length, length}};
    };
    const std::array<Stretch, 2> rows = mine(all_rows, split == Split::rows);
    const std::array<Stretch, 2> columns = mine(all_columns, split == Split::columns);
    nn::Matrix numbers(rows[0].size() + rows[1].size(), columns[0].size() + columns[1].size());
    const std::byte* const stored = file_.load_until_released(tensor);
    float* next = numbers.data();
    for (const Stretch& down : rows) {
      for (std::int64_t row = down.begin; row < down.end; ++row) {
        for (const Stretch& across : columns) {
          const auto bytes = static_cast<std::size_t>(across.size()) * sizeof(float);
          const std::int64_t first = row * all_columns + across.begin;
          copy_bytes(next, stored + first * static_cast<std::int64_t>(sizeof(float)), bytes);
          next += across.size();
        }
      }
    }
    return numbers;
  }

  const Ranks& ranks_;

  SafeTensors file_;
  std::int64_t version_;
  Config contents_;
  std::set<std::string, std::less<>> taken_;
  std::map<std::string, std::shared_ptr<const BucketBias>> biases_;
  std::map<std::string, std::shared_ptr<const nn::Matrix>> tables_;
};

}  // namespace

Recording load_recording(const std::filesystem::path& file) { return RecordingLoader(file, *alone()).run(); }

Recording load_recording(const std::filesystem::path& file, Ranks& ranks) {
  if (ranks.size() == 1) return load_recording(file);
  Recording part;
  std::string known;
  together(ranks, [&] {
    RecordingLoader loader(file, ranks);
    part = loader.run();
    known = loader.fingerprint();
  });
  const std::vector<std::string> all = ranks.gather(known);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] != all[0])
      throw std::invalid_argument("rank " + std::to_string(rank) + " has a different " + file.string() +
                                  " from rank 0");
  }
  return part;
}

}  // namespace attn::model
