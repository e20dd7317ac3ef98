#include "apps/cli/options/paths.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "apps/cli/command.h"
#include "apps/cli/commands/train.h"
#include "apps/cli/output/output_file.h"
#include "attn/error.h"
#include "builtin/models.h"

namespace attn::cli {

namespace {

namespace fs = std::filesystem;

// Options that name a file or a folder to write. Every other option whose value is a FILE, DIR or PATH is read.
constexpr std::array<std::string_view, 6> kWritten = {"output", "json", "csv", "npy", "to", "state"};

// Options that take a built-in model by its name, even if there is a folder of that name.
constexpr std::array<std::string_view, 3> kModels = {"--model", "--from", "--with"};

using Identity = std::pair<dev_t, ino_t>;

// None if there is no such file or folder, or if it is a pipe or a device.
std::optional<Identity> identity_of(const fs::path& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0 || (!S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode))) return std::nullopt;
  return Identity(facts.st_dev, facts.st_ino);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

void add_files_in(const fs::path& folder, std::vector<Identity>& to) {
  std::error_code failed;
  for (auto i = fs::directory_iterator(folder, failed); !failed && i != fs::directory_iterator(); i.increment(failed))
    if (const auto file = identity_of(i->path()); file && !is_folder(i->path())) to.push_back(*file);
}

// Where a path that is read leads: standard input, a file, a folder, or a model of the hub's cache.
fs::path place_of(const GivenPath& given) {
  const std::string& path = given.path;
  if (path == "-") return "/dev/stdin";
  const bool names_model = std::ranges::find(kModels, given.option) != kModels.end();
  if (!(names_model && builtin::find_model(path) != nullptr) && identity_of(path)) return path;
  try {
    const base::Folder model = builtin::folder_of(path);
    return model.built_in() ? fs::path() : model.path("");
  } catch (const Error&) {  // the command will say what is missing
    return {};
  }
}

std::vector<Identity> all_of_read(const GivenPath& given) {
  const fs::path place = place_of(given);
  std::vector<Identity> all;
  if (const auto self = identity_of(place)) all.push_back(*self);
  if (is_folder(place)) add_files_in(place, all);
  return all;
}

std::vector<Identity> all_of_written(const fs::path& path) {
  std::vector<Identity> all;
  if (const auto self = identity_of(path)) all.push_back(*self);
  if (!is_folder(path)) return all;
  for (const char* name : kTrainingFiles)
    if (const auto file = identity_of(path / name)) all.push_back(*file);
  return all;
}

bool is_same(const std::string& one, const std::string& other) {
  const std::optional<Identity> a = identity_of(one), b = identity_of(other);
  if (a || b) return a == b;
  std::error_code failed;  // neither exists, or both are devices, which may be shared
  if (fs::exists(one, failed) || fs::exists(other, failed)) return false;
  return fs::weakly_canonical(fs::absolute(one), failed) == fs::weakly_canonical(fs::absolute(other), failed);
}

void refuse_read(const GivenPath& written, const std::vector<GivenPath>& read) {
  const std::vector<Identity> ends = all_of_written(written.path);
  if (ends.empty()) return;
  for (const GivenPath& given : read) {
    const std::vector<Identity> begins = all_of_read(given);
    if (std::ranges::find_first_of(ends, begins) == ends.end()) continue;
    throw UsageError(fmt::format("{} {} would overwrite what {} {} reads; choose another {}", written.option,
                                 written.path, given.option, given.path, written.option));
  }
}

// The paths of the commands that were chosen, by what happens to them.
void collect(const CLI::App& app, std::vector<GivenPath>& read, std::vector<GivenPath>& written) {
  for (const CLI::App* command : app.get_subcommands()) {
    for (const CLI::Option* option : command->get_options()) {
      const std::string type = option->get_type_name();
      const auto says = [&](const char* word) { return type.find(word) != std::string::npos; };
      const bool positional = option->get_lnames().empty();
      const std::string name = positional ? option->get_name() : option->get_lnames()[0];
      const bool compared = name == "A" || name == "B";  // files, texts or models
      if (option->count() == 0 || option->get_expected_max() == 0) continue;
      if (!compared && !says("FILE") && !says("DIR") && !says("PATH")) continue;
      const bool writes = std::ranges::find(kWritten, name) != kWritten.end();
      for (const std::string& path : option->results()) {
        if (path.empty() || path == "{}") continue;  // an option without its optional value
        (writes ? written : read).push_back({positional ? name : "--" + name, path});
      }
    }
    collect(*command, read, written);
  }
}

}  // namespace

void require_apart(const std::vector<GivenPath>& read, std::vector<GivenPath> written) {
  std::erase_if(written, [](const GivenPath& given) { return to_stdout(given.path); });
  for (std::size_t n = 0; n < written.size(); ++n) {
    refuse_read(written[n], read);
    for (std::size_t other = 0; other < n; ++other) {
      if (!is_same(written[n].path, written[other].path)) continue;
      throw UsageError(fmt::format("{} {} and {} {} are the same file; choose two", written[other].option,
                                   written[other].path, written[n].option, written[n].path));
    }
  }
}

void keep_paths_apart(CLI::App& app) {
  app.parse_complete_callback([&app] {
    std::vector<GivenPath> read, written;
    collect(app, read, written);
    require_apart(read, written);
  });
}

}  // namespace attn::cli
