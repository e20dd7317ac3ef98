// model/recording/recording.h - a model with its tokenizer, and what it makes of a text.
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
  std::string name;  // the folder's path, or that of the built-in model
  text::Tokenizer tokenizer;
  std::unique_ptr<Model> model;

  // Throws attn::Error if a file is not right.
  static Reader load(const base::Folder& folder);
};

struct Text {
  std::string text;
  std::optional<std::string> pair;            // the second text of a pair, for encoders that take one
  std::optional<std::string> target;          // what the decoder of an encoder-decoder is given to say
  std::vector<std::int32_t> target_ids = {};  // the target where it is known as tokens, else empty
  std::vector<std::int32_t> said = {};        // what a decoder went on with behind the text
  bool cut = false;                           // where it is longer than the model takes, its end is left out
};

// What is to be different from the model as it is.
struct Changes {
  std::vector<HeadOff> off = {};  // of all sequences
  Mask also = {};                 // as Pass has it
};

// Where a reading comes from.
struct Origin {
  std::string model;  // its name or folder, as the user gave it
  std::string type;   // config.json's model_type
  Form form = Form::encoder;
  Text text;

  [[nodiscard]] std::string short_name() const;  // the model's, without folders in front: "bert" of "models/bert/"
};

// A text that has been read. In an encoder-decoder the decoder is given its start token and the target's tokens but the
// last, and each row is to write the token behind the one that it was given, as in training. Without a target the
// decoder has not run.
struct Recording {
  Origin origin;
  Changes changes;
  AttentionLog log;
  std::vector<text::Token> tokens;   // of the text, and of the pair behind it
  std::vector<text::Token> target;   // what each row of the decoder was given
  std::vector<text::Token> written;  // what each row is to write: target[1:], and behind it the target's last token
  nn::Matrix hidden;                 // [tokens, width], of what read the text
  nn::Matrix target_hidden;          // [target, width]
  // How much each head of kind self attends, on random tokens that come twice, to what followed the first time
  // (Olsson et al., 2022): [layers, heads]. Empty: the model was not asked.
  nn::Matrix induction;

  // Names of a table's rows. Of cross-attention they are `written`: what a row looks for in the source is what it needs
  // for the token that it writes (Bahdanau et al., 2015). Of kind decoder they are `target`, as its keys are.
  [[nodiscard]] const std::vector<text::Token>& queries(Kind kind) const noexcept;
  [[nodiscard]] const std::vector<text::Token>& keys(Kind kind) const noexcept;
};

// The end goes, but not the special tokens behind it.
void cut_to(std::vector<text::Token>& tokens, std::int64_t most);

// How read() runs the model.
struct RecordOptions {
  Changes changes = {};
  LayerHook on_layer = {};
  // Several processes that read the text together: all must call read() with the same text. Each has all tokens, and of
  // the recording and the hidden states its own rows (RingSplit, of the text and of the target). Null: nobody else.
  Ranks* ranks = nullptr;
};

// Throws std::invalid_argument for a text that the model cannot take: empty, too long, not UTF-8, a pair or a target
// where there can be none; and for a mask that does not fit its tokens. Heads that are off must be there.
Recording read(const Reader& reader, const Text& text, Keep keep, ThreadPool& pool, const RecordOptions& options = {});

// read() in two steps: first its tokens, and all that can be wrong with them, then the model's pass.
//
// Where several processes read, begin_recording() throws on all of them or on none: std::runtime_error where one of
// them cannot take its text, std::invalid_argument where they have not got the same one, or fewer tokens than ranks.
Recording begin_recording(const Reader& reader, const Text& text, Keep keep, const RecordOptions& options = {});
void finish_recording(const Reader& reader, Recording& recording, ThreadPool& pool, const RecordOptions& options = {});

}  // namespace attn::model
