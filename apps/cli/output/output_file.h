// apps/cli/output/output_file.h - files that a command writes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/new_file.h"

namespace attn::cli {

// Whether a file name means standard output: empty or "-".
bool to_stdout(const std::string& file);

// Standard output, or a temporary file that commit() renames to its final name. Throws attn::Error if it cannot be
// written, and Interrupted after Ctrl-C; in both cases no file is left.
class OutputFile {
 public:
  explicit OutputFile(const std::string& file);
  void write(std::string_view bytes);
  void commit();

 private:
  std::optional<base::NewFile> file_;  // none: standard output
};

}  // namespace attn::cli
