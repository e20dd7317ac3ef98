// apps/cli/output/output_file.h - files that a command writes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/files/file_io.h"

namespace attn::cli {

// Whether a file's name stands for standard output: none at all, or "-".
bool to_stdout(const std::string& file);

// A file that is written beside and moved into place, or standard output. Throws attn::Error where it cannot be
// written, and Interrupted after Ctrl-C: nothing is left then.
class OutputFile {
 public:
  explicit OutputFile(const std::string& file);
  void write(std::string_view bytes);
  void commit();

 private:
  std::optional<model::NewFile> file_;  // none: standard output
};

}  // namespace attn::cli
