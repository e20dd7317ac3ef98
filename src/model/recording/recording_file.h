// model/recording/recording_file.h - saves and loads recordings as .attn files: safetensors with JSON metadata.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "attn/ranks.h"
#include "model/recording/recording.h"

namespace attn::model {

// Writes to a temporary file and moves it into place. Throws attn::Error; std::invalid_argument if nothing or several
// texts were recorded. `between` is called periodically; if it throws, nothing is left.
void save_recording(const Recording& recording, const std::filesystem::path& file,
                    const std::function<void()>& between = {});

// The same file, written by several processes, each of which holds its part of the recording (RecordOptions::ranks).
// All must call it, with a path that all of them can access. Throws on all of them or on none.
void save_recording(Ranks& ranks, const Recording& recording, const std::filesystem::path& file,
                    const std::function<void()>& between = {});

// Passes the bytes of such a file to `write`, piece by piece; if it throws, writing ends.
void write_recording(const Recording& recording, const std::function<void(std::string_view)>& write);

// Loads everything that save_recording() wrote. Throws attn::Error for a file that is not a recording, is broken, or
// has a newer format version.
Recording load_recording(const std::filesystem::path& file);
// Loads the part of the recording that belongs to this rank. All must call it. Throws on all of them or on none:
// std::runtime_error if one of them cannot read the file, std::invalid_argument if their files differ.
Recording load_recording(const std::filesystem::path& file, Ranks& ranks);

}  // namespace attn::model
