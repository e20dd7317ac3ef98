#include "apps/cli/output/output_file.h"

#include <string_view>

#include "apps/cli/command.h"

namespace attn::cli {

bool to_stdout(const std::string& file) { return file.empty() || file == "-"; }

OutputFile::OutputFile(const std::string& file) {
  watch_for_interrupt();
  if (!to_stdout(file)) file_.emplace(file);
}

void OutputFile::write(std::string_view bytes) {
  if (interrupted()) throw Interrupted();
  if (!file_) return print(bytes);
  file_->write(bytes.data(), bytes.size());
}

void OutputFile::commit() {
  if (interrupted()) throw Interrupted();
  if (file_) file_->commit();
}

}  // namespace attn::cli
