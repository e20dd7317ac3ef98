// model/recording/recording_format.h - names in .attn files that writer and loader share (docs/recordings.md lists
// all).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/recording/attention_log.h"

namespace attn::model::recording_format {

inline constexpr const char* kFormat = "attnscope-recording";
// Format versions. 0: tokens as plain texts; only Q, K and lse. 1: complete tokens, and everything that Keep can
// request. 2: the tokens that a decoder writes. 3: rules of models that ran outside attnscope (softcap, also,
// distance_bias, sink, a window to both sides). A file declares 3 only if it uses one of these, so that older programs
// can read the others.
inline constexpr std::int64_t kVersion = 3;
inline constexpr std::int64_t kPlainVersion = 2;

// Keys of the metadata; kContents is a JSON object with everything else.
inline constexpr const char* kFormatKey = "format";
inline constexpr const char* kVersionKey = "format_version";
inline constexpr const char* kProgramKey = "written_by";
inline constexpr const char* kContents = "recording";

// Names in the list "kept".
inline constexpr const char* kValues = "values";
inline constexpr const char* kInputs = "inputs";
inline constexpr const char* kValueNorms = "value_norms";
inline constexpr const char* kHidden = "hidden";

inline constexpr const char* kInduction = "induction";

// "self.3.q"
inline std::string tensor_name(Kind kind, std::int64_t layer, std::string_view part) {
  return std::string(name_of(kind)) + "." + std::to_string(layer) + "." + std::string(part);
}
// Hidden states number `index`: "hidden.0", for a decoder "decoder.hidden.0".
inline std::string hidden_name(bool decoder, std::size_t index) {
  return std::string(decoder ? "decoder." : "") + "hidden." + std::to_string(index);
}
// The output of the stack after its final norm: Recording::hidden and Recording::target_hidden.
inline const char* output_name(bool decoder) { return decoder ? "decoder.output" : "output"; }

}  // namespace attn::model::recording_format
