// model/run/model.h - a model: tokens in, hidden states, logits and recordings out.
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

// Sequences of different lengths, one behind the other; nothing is padded.
struct Batch {
  std::vector<std::int32_t> ids;           // [T]
  std::vector<std::int32_t> types;         // [T] token types; empty: all 0
  std::vector<std::int64_t> starts = {0};  // S + 1 offsets into ids

  Batch() = default;
  explicit Batch(std::vector<std::int32_t> one, std::vector<std::int32_t> its_types = {});
  void add(std::span<const std::int32_t> ids, std::span<const std::int32_t> types = {});  // one more sequence

  [[nodiscard]] std::int64_t tokens() const noexcept { return static_cast<std::int64_t>(ids.size()); }
  [[nodiscard]] std::int64_t sequences() const noexcept { return static_cast<std::int64_t>(starts.size()) - 1; }
};

enum class Form : std::uint8_t { encoder, decoder, encoder_decoder };
std::string_view name_of(Form form) noexcept;  // "encoder", "decoder", "encoder-decoder"

// What generation_config.json (in older files config.json) asks of every generated text. 0 and -1: nothing.
struct GenerationRules {
  std::int32_t forced_bos = -1;      // the first token that the decoder of an encoder-decoder says
  std::int32_t forced_eos = -1;      // the last token, where the text is as long as it may become
  std::int64_t min_length = 0;       // no end before so many tokens, the prompt (or start token) counted
  std::int64_t min_new_tokens = 0;   // the same, without the prompt
  std::int64_t no_repeat = 0;        // no run of so many tokens comes twice
  std::vector<std::string> ignored;  // what else is asked for, and not done
};

// What a model is. Ids are -1 where there is none.
struct Facts {
  std::string type;  // config.json's model_type
  Form form = Form::encoder;
  std::int64_t layers = 0;          // of the encoder or of the only stack
  std::int64_t decoder_layers = 0;  // of an encoder-decoder's decoder
  HeadShape heads;                  // of the encoder or of the only stack
  HeadShape decoder_heads;          // of an encoder-decoder's decoder
  std::int64_t width = 0;
  std::int64_t vocabulary = 0;
  std::int64_t max_tokens = 0;      // positions that the model has; 0: any number
  std::int64_t trained_tokens = 0;  // beyond these the model runs, but was not made for it; 0: not known
  bool has_logits = false;          // a language-model head is there
  bool has_pooler = false;
  std::vector<std::string> labels;  // of a head that says of which kind a text is; empty: there is none
  bool several_labels = false;      // any number of them may hold, not exactly one
  std::int64_t parameters = 0;
  std::int64_t bytes = 0;  // of the weights' files
  std::int32_t bos = -1, pad = -1;
  std::int32_t decoder_start = -1;  // with what the decoder of an encoder-decoder begins
  std::vector<std::int32_t> eos;
  GenerationRules rules;
};

// What an encoder gave: what the decoder's cross-attention reads.
struct Memory {
  nn::Matrix hidden;                 // [T, width]; of a text that is spread, this rank's rows
  std::vector<std::int64_t> starts;  // S + 1
};

class Cache;  // cache.h

// A head that is switched off: what it gives is 0 before the output projection.
struct HeadOff {
  Kind kind = Kind::self;
  std::int64_t layer = 0, head = 0;
  std::int64_t sequence = -1;  // of the batch; -1: of all
};

// Called before each layer's attention. What it throws ends the pass.
using LayerHook = std::function<void(Kind kind, std::int64_t layer)>;

// How to run. Everything but the pool may be absent.
struct Pass {
  ThreadPool& pool;
  AttentionLog* log = nullptr;     // null: nothing is kept
  Cache* cache = nullptr;          // decode() only: goes on where the last pass with it ended; one sequence
  const Memory* memory = nullptr;  // decode() of an encoder-decoder only
  std::span<const HeadOff> off = {};
  Mask also = {};  // what must hold besides the model's own rule, in every layer and head of kind self
  LayerHook on_layer = {};

  // Several processes that read one sequence together, without a cache. Each is given the whole batch and keeps its own
  // rows, as RingSplit says: in what is returned, in the recording, in the memory. All must run the same pass. Null, or
  // one rank: nothing is spread.
  Ranks* ranks = nullptr;
  const Batch* whole = nullptr;  // set by Model where the batch that a family is given is one rank's part of this one

  // Hidden states number `index` of a stack, if the recording keeps them.
  void keep_hidden(bool decoder, std::size_t index, View<const float, 2> rows) const {
    if (log != nullptr && log->keep().hidden) log->add_hidden(decoder, index, rows);
  }
};

// Weights are shared and never change: any number of threads may run passes of one model.
class Model {
 public:
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  [[nodiscard]] const Facts& facts() const noexcept { return facts_; }

  // Throws std::invalid_argument for sequences that it cannot take behind `seen` tokens: an id beyond the vocabulary,
  // more tokens than it has positions, an empty one. encode() and decode() begin with it.
  void check(const Batch& batch, std::int64_t seen = 0) const;

  // Hidden states [T, width] after the last layer and the final norm. All of these throw std::invalid_argument for what
  // the model cannot do: no such stack or head.
  [[nodiscard]] nn::Matrix encode(const Batch& batch, const Pass& pass) const;
  [[nodiscard]] nn::Matrix decode(const Batch& batch, const Pass& pass) const;
  // encode(), or decode() of a decoder: what reads the text.
  [[nodiscard]] nn::Matrix read(const Batch& batch, const Pass& pass) const;
  // Through the language-model head: [n, vocabulary].
  [[nodiscard]] nn::Matrix logits(View<const float, 2> hidden, ThreadPool& pool) const;
  // What an attention's heads go through together: [width, H D], H D = that of its queries. A window on the file.
  [[nodiscard]] nn::Weight output_projection(Kind kind, std::int64_t layer) const;
  // BERT's pooler, of the rows of first tokens: [n, width].
  [[nodiscard]] nn::Matrix pooled(View<const float, 2> first_tokens, ThreadPool& pool) const;
  // Through the head for labels, of the rows of first tokens: logits [n, labels].
  [[nodiscard]] nn::Matrix classify(View<const float, 2> first_tokens, ThreadPool& pool) const;

 protected:
  explicit Model(Facts facts) : facts_(std::move(facts)) {}

  // Called with arguments that have been checked.
  virtual nn::Matrix do_encode(const Batch& batch, const Pass& pass) const;
  virtual nn::Matrix do_decode(const Batch& batch, const Pass& pass) const;
  virtual nn::Matrix do_logits(View<const float, 2> hidden, ThreadPool& pool) const;
  virtual nn::Matrix do_pooled(View<const float, 2> first_tokens, ThreadPool& pool) const;
  virtual nn::Matrix do_classify(View<const float, 2> first_tokens, ThreadPool& pool) const;
  [[nodiscard]] virtual nn::Weight do_output_projection(Kind kind, std::int64_t layer) const;

  Facts facts_;

 private:
  using Run = nn::Matrix (Model::*)(const Batch& batch, const Pass& pass) const;

  // Runs a pass whose batch has been checked, on this rank's rows where it is spread.
  nn::Matrix run(Run stack, const Batch& batch, Pass pass) const;
};

// From a folder in the Hugging Face layout. Throws attn::Error for files that are not right; an unknown model_type
// names the known ones.
std::unique_ptr<Model> load_model(const base::Folder& folder);

// config.json alone: what facts() will say, as far as it is known without the weights (parameters, bytes, has_pooler
// and the like stay at their defaults).
Facts read_facts(const base::Folder& folder);

// Every model_type that load_model takes.
std::span<const std::string_view> known_types() noexcept;

}  // namespace attn::model
