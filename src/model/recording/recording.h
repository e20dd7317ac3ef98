// model/recording/recording.h - a model with its tokenizer, and the recording of one text.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/ranks.h"
#include "attn/thread_pool.h"
#include "model/recording/attention_log.h"
#include "model/run/model.h"
#include "text/tokenizer/tokenizer.h"

namespace attn::model {

struct Reader {
  std::string name;  // path of the folder, or name of the built-in model
  text::Tokenizer tokenizer;
  std::unique_ptr<Model> model;

  // Throws attn::Error if a file is missing or invalid.
  static Reader load(const base::Folder& folder);
};

struct Text {
  std::string text;
  std::optional<std::string> pair;            // second text of a pair, for encoders that take one
  std::optional<std::string> target;          // text that the decoder of an encoder-decoder should write
  std::vector<std::int32_t> target_ids = {};  // the target as tokens, if known; else empty
  std::vector<std::int32_t> said = {};        // tokens that a decoder generated after the text
  bool cut = false;                           // truncate a text that is too long for the model
};

// Changes to the model for this recording.
struct Changes {
  std::vector<HeadOff> off = {};  // apply to all sequences
  Mask also = {};                 // as in Pass
};

// The source of a recording.
struct Origin {
  std::string model;  // name or folder, as the user wrote it
  std::string type;   // model_type in config.json
  Form form = Form::encoder;
  Text text;

  [[nodiscard]] std::string short_name() const;  // the model's name without leading folders: "bert" for "models/bert/"
};

// One pass of a model over a text. The decoder of an encoder-decoder reads its start token and all target tokens but
// the last; each row should write the token after the one that it reads, as in training. Without a target the decoder
// does not run.
struct Recording {
  Origin origin;
  Changes changes;
  AttentionLog log;
  std::vector<text::Token> tokens;   // of the text, then of the pair
  std::vector<text::Token> target;   // input of each decoder row
  std::vector<text::Token> written;  // what each row should write: target[1:], then the target's last token
  nn::Matrix hidden;                 // [tokens, width], output of the stack that reads the text
  nn::Matrix target_hidden;          // [target, width]
  // How much each head of kind self attends, on a random sequence repeated once, to the token that followed the first
  // occurrence (Olsson et al., 2022): [layers, heads]. Empty: not measured.
  nn::Matrix induction;

  // Labels of a table's rows. For cross-attention they are `written`: a row looks in the source for what it needs to
  // write its token (Bahdanau et al., 2015). For kind decoder they are `target`, like the keys.
  [[nodiscard]] const std::vector<text::Token>& queries(Kind kind) const noexcept;
  [[nodiscard]] const std::vector<text::Token>& keys(Kind kind) const noexcept;
};

// Truncates to `most` tokens: drops the end of the text but keeps the special tokens after it.
void cut_to(std::vector<text::Token>& tokens, std::int64_t most);

// How read() runs the model.
struct RecordOptions {
  Changes changes = {};
  LayerHook on_layer = {};
  // Several processes record one text together; all must call read() with the same text. Each gets all tokens, and its
  // own rows of the attention log and the hidden states (split by RingSplit, text and target separately). Null: a
  // single process.
  Ranks* ranks = nullptr;
};

// Throws std::invalid_argument for a text that the model cannot take: empty, too long, not UTF-8, or with a pair or
// target that the model does not support; and for a mask that does not fit its tokens. The heads in `off` must exist.
Recording read(const Reader& reader, const Text& text, Keep keep, ThreadPool& pool, const RecordOptions& options = {});

// read() in two steps: begin_recording() tokenizes and validates, then the model runs.
//
// With several processes begin_recording() throws on all of them or on none: std::runtime_error if one of them cannot
// take its text, std::invalid_argument if their texts differ or have fewer tokens than there are ranks.
Recording begin_recording(const Reader& reader, const Text& text, Keep keep, const RecordOptions& options = {});
void finish_recording(const Reader& reader, Recording& recording, ThreadPool& pool, const RecordOptions& options = {});

}  // namespace attn::model
