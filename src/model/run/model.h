// model/run/model.h - a model: tokens in; hidden states, logits and recordings out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attn/ranks.h"
#include "attn/thread_pool.h"
#include "attn/view.h"
#include "base/folder.h"
#include "model/recording/attention_log.h"
#include "nn/infer/linear.h"
#include "nn/infer/matrix.h"

namespace attn::model {

// Sequences of different lengths, concatenated; no padding.
struct Batch {
  std::vector<std::int32_t> ids;           // [T]
  std::vector<std::int32_t> types;         // [T] token types; empty: all 0
  std::vector<std::int64_t> starts = {0};  // S + 1 offsets into ids

  Batch() = default;
  explicit Batch(std::vector<std::int32_t> one, std::vector<std::int32_t> its_types = {});
  void add(std::span<const std::int32_t> ids, std::span<const std::int32_t> types = {});  // appends a sequence

  [[nodiscard]] std::int64_t tokens() const noexcept { return static_cast<std::int64_t>(ids.size()); }
  [[nodiscard]] std::int64_t sequences() const noexcept { return static_cast<std::int64_t>(starts.size()) - 1; }
};

enum class Form : std::uint8_t { encoder, decoder, encoder_decoder };
std::string_view name_of(Form form) noexcept;  // "encoder", "decoder", "encoder-decoder"

// Rules that generation_config.json (in older files config.json) sets for generated text. 0 and -1: not set.
struct GenerationRules {
  std::int32_t forced_bos = -1;      // the first token that an encoder-decoder's decoder writes
  std::int32_t forced_eos = -1;      // the last token, if the text reaches its maximum length
  std::int64_t min_length = 0;       // no end before this many tokens, the prompt (or start token) included
  std::int64_t min_new_tokens = 0;   // the same, without the prompt
  std::int64_t no_repeat = 0;        // no n-gram of this length occurs twice
  std::vector<std::string> ignored;  // settings that are present but not implemented
};

// Properties of a model. Ids are -1 if the model has none.
struct Facts {
  std::string type;  // config.json's model_type
  Form form = Form::encoder;
  std::int64_t layers = 0;          // of the encoder, or of the only stack
  std::int64_t decoder_layers = 0;  // of an encoder-decoder's decoder
  HeadShape heads;                  // of the encoder, or of the only stack
  HeadShape decoder_heads;          // of an encoder-decoder's decoder
  std::int64_t width = 0;
  std::int64_t vocabulary = 0;
  std::int64_t max_tokens = 0;      // number of positions; 0: unlimited
  std::int64_t trained_tokens = 0;  // beyond these the model runs, but was not trained for it; 0: unknown
  bool has_logits = false;          // has a language-model head
  bool has_pooler = false;
  std::vector<std::string> labels;  // of the classification head; empty: none
  bool several_labels = false;      // any number of labels may hold, not exactly one
  std::int64_t parameters = 0;
  std::int64_t bytes = 0;  // of the weight files
  std::int32_t bos = -1, pad = -1;
  std::int32_t decoder_start = -1;  // first token of an encoder-decoder's decoder
  std::vector<std::int32_t> eos;
  GenerationRules rules;
};

// An encoder's output, which the decoder's cross-attention reads.
struct EncoderOutput {
  nn::Matrix hidden;                 // [T, width]; of a distributed text, this rank's rows
  std::vector<std::int64_t> starts;  // S + 1
};

class Cache;  // cache.h

// A head that is switched off: its output is 0 before the output projection.
struct HeadOff {
  Kind kind = Kind::self;
  std::int64_t layer = 0, head = 0;
  std::int64_t sequence = -1;  // index in the batch; -1: all
};

// Called before each layer's attention. An exception ends the pass.
using LayerHook = std::function<void(Kind kind, std::int64_t layer)>;

// How to run the model. Everything but the pool is optional.
struct Pass {
  ThreadPool& pool;
  AttentionLog* log = nullptr;            // null: nothing is recorded
  Cache* cache = nullptr;                 // decode() only: continues where the last pass with it ended; one sequence
  const EncoderOutput* memory = nullptr;  // decode() of an encoder-decoder only
  std::span<const HeadOff> off = {};
  Mask also = {};  // must hold besides the model's own rule, in every layer and head of kind self
  LayerHook on_layer = {};

  // Several processes share one sequence, without a cache. Each gets the whole batch and keeps its own rows, split by
  // RingSplit: in the result, the recording and the memory. All must run the same pass. Null or one rank: not
  // distributed.
  Ranks* ranks = nullptr;
  const Batch* whole = nullptr;  // set by Model if the batch that a family gets is one rank's part of this one

  // Records hidden states number `index` of a stack, if the log keeps them.
  void keep_hidden(bool decoder, std::size_t index, View<const float, 2> rows) const {
    if (log != nullptr && log->keep().hidden) log->add_hidden(decoder, index, rows);
  }
};

// Weights are shared and immutable: any number of threads may run passes of one model.
class Model {
 public:
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  [[nodiscard]] const Facts& facts() const noexcept { return facts_; }

  // Throws std::invalid_argument for sequences that the model cannot take after `seen` tokens: an id outside the
  // vocabulary, more tokens than positions, an empty sequence. encode() and decode() call it first.
  void check(const Batch& batch, std::int64_t seen = 0) const;

  // Hidden states [T, width] after the last layer and the final norm. All of these throw std::invalid_argument if the
  // model lacks the stack or head.
  [[nodiscard]] nn::Matrix encode(const Batch& batch, const Pass& pass) const;
  [[nodiscard]] nn::Matrix decode(const Batch& batch, const Pass& pass) const;
  // The stack that reads the text: encode(), or decode() of a decoder.
  [[nodiscard]] nn::Matrix read(const Batch& batch, const Pass& pass) const;
  // Applies the language-model head: [n, vocabulary].
  [[nodiscard]] nn::Matrix logits(View<const float, 2> hidden, ThreadPool& pool) const;
  // The output projection that joins an attention's heads: [width, H D], with H D as its queries have it. A view into
  // the file.
  [[nodiscard]] nn::Weight output_projection(Kind kind, std::int64_t layer) const;
  // BERT's pooler, applied to the rows of first tokens: [n, width].
  [[nodiscard]] nn::Matrix pooled(View<const float, 2> first_tokens, ThreadPool& pool) const;
  // The classification head, applied to the rows of first tokens: logits [n, labels].
  [[nodiscard]] nn::Matrix classify(View<const float, 2> first_tokens, ThreadPool& pool) const;

 protected:
  explicit Model(Facts facts) : facts_(std::move(facts)) {}

  // Called with validated arguments.
  virtual nn::Matrix do_encode(const Batch& batch, const Pass& pass) const;
  virtual nn::Matrix do_decode(const Batch& batch, const Pass& pass) const;
  virtual nn::Matrix do_logits(View<const float, 2> hidden, ThreadPool& pool) const;
  virtual nn::Matrix do_pooled(View<const float, 2> first_tokens, ThreadPool& pool) const;
  virtual nn::Matrix do_classify(View<const float, 2> first_tokens, ThreadPool& pool) const;
  [[nodiscard]] virtual nn::Weight do_output_projection(Kind kind, std::int64_t layer) const;

  Facts facts_;

 private:
  using Run = nn::Matrix (Model::*)(const Batch& batch, const Pass& pass) const;

  // Runs a pass whose batch has been checked; if it is distributed, on this rank's rows.
  nn::Matrix run(Run stack, const Batch& batch, Pass pass) const;
};

// Loads a folder in the Hugging Face layout. Throws attn::Error for missing or invalid files; for an unknown model_type
// the message lists the known ones.
std::unique_ptr<Model> load_model(const base::Folder& folder);

// Reads config.json alone: facts() without what only the weights tell (parameters, bytes, has_pooler and the like keep
// their defaults).
Facts read_facts(const base::Folder& folder);

// Every model_type that load_model supports.
std::span<const std::string_view> known_types() noexcept;

}  // namespace attn::model
