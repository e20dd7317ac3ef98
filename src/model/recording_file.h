// model/recording_file.h - readings as .attn files: safetensors, with everything else as metadata.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "model/reading.h"

namespace attn::model {

// Written beside and moved into place. Throws attn::Error; std::invalid_argument where nothing was recorded, or several
// texts at once. `between` is called now and then; what it throws ends the work, and nothing is left.
void save_reading(const Reading& reading, const std::filesystem::path& file, const std::function<void()>& between = {});

// The bytes of such a file to wherever `write` puts them, part after part; what it throws ends the work.
void write_reading(const Reading& reading, const std::function<void(std::string_view)>& write);

// All that save_reading() wrote. Throws attn::Error for a file that is no recording, is broken, or was written by a
// newer version than is known here.
Reading load_reading(const std::filesystem::path& file);

}  // namespace attn::model
