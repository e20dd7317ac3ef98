// model/recording/recording_file.h - readings as .attn files: safetensors, with everything else as metadata.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "attn/ranks.h"
#include "model/recording/recording.h"

namespace attn::model {

// Written beside and moved into place. Throws attn::Error; std::invalid_argument where nothing was recorded, or several
// texts at once. `between` is called now and then; what it throws ends the work, and nothing is left.
void save_recording(const Recording& recording, const std::filesystem::path& file,
                    const std::function<void()>& between = {});

// The same file from several processes, each of which has its part of the reading (RecordOptions::ranks). All must call
// it, with a name in a folder that all of them see. Throws on all of them or on none.
void save_recording(Ranks& ranks, const Recording& recording, const std::filesystem::path& file,
                    const std::function<void()>& between = {});

// The bytes of such a file to wherever `write` puts them, part after part; what it throws ends the work.
void write_recording(const Recording& recording, const std::function<void(std::string_view)>& write);

// All that save_recording() wrote. Throws attn::Error for a file that is no recording, is broken, or was written by a
// newer version than is known here.
Recording load_recording(const std::filesystem::path& file);
// The part of it that this rank would have, had several processes read the text together. All must call it. Throws on
// all of them or on none: std::runtime_error where one of them cannot read it, std::invalid_argument where they do not
// find the same file.
Recording load_recording(const std::filesystem::path& file, Ranks& ranks);

}  // namespace attn::model
