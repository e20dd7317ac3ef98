// model/recording_file.h - readings as .attn files: safetensors, with everything else as metadata.
#pragma once

#include <filesystem>

#include "model/reading.h"

namespace attn::model {

// Written beside and moved into place. Throws attn::Error.
void save_reading(const Reading& reading, const std::filesystem::path& file);

// All that save_reading() wrote. Throws attn::Error for a file that is no recording, is broken, or was written by a
// newer version than is known here.
Reading load_reading(const std::filesystem::path& file);

}  // namespace attn::model
