// model/files/file_io.h - what `base` has for files, under the names that this floor uses.
#pragma once

#include "base/new_file.h"
#include "base/one_line.h"
#include "base/read_file.h"

namespace attn::model {

using base::in_quotes;
using base::NewFile;
using base::one_line;
using base::OpenFile;
using base::read_file;
using base::system_words;

}  // namespace attn::model
