// apps/cli/options/paths.h - keeps what a command writes apart from what it reads.
#pragma once

#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): CLI11's own
class App;
}

namespace attn::cli {

// A path, and the option that it was given to.
struct GivenPath {
  std::string option, path;
};

// Throws UsageError if something that is written is also read or is written twice, under whatever names: device and
// inode are compared, so links and ./ make no difference. Pipes, devices and
// standard output may be shared. A folder stands for itself
// and the files directly in it; a folder that is written, for itself and the files of a training.
void require_apart(const std::vector<GivenPath>& read, std::vector<GivenPath> written);

// Makes `app` check all paths on the command line between parsing and the start of the command. Names that a command
// derives from others it must check itself.
void keep_paths_apart(CLI::App& app);

}  // namespace attn::cli
