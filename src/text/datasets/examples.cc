#include "text/datasets/examples.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "attn/error.h"
#include "base/hash.h"
#include "base/read_file.h"
#include "base/utf8.h"
#include "engine/runtime/number_text.h"

namespace attn::text {
namespace {

namespace fs = std::filesystem;

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos; }

// The published IMDb reviews use this folder name for reviews without a label.
constexpr std::string_view kUnlabelled = "unsup";

std::vector<Example> read_lines(const fs::path& file, Wanted wanted, const ExampleColumns& columns) {
  DataSet set(file, wanted, columns);
  std::vector<Example> examples;
  while (std::optional<Example> example = set.next_example()) {
    const bool no_text = is_blank(example->text);
    if (wanted == Wanted::text) {
      if (!no_text) examples.push_back(std::move(*example));
      continue;
    }
    if (no_text || is_blank(example->label)) {
      const char* other = wanted == Wanted::label ? "label" : "translation";
      throw Error(file.string(), "line " + std::to_string(set.line()) + " has no " + (no_text ? "text" : other));
    }
    examples.push_back(std::move(*example));
  }
  return examples;
}

std::vector<fs::path> text_files(const fs::path& folder, bool labelled) {
  std::vector<fs::path> files;
  std::set<fs::path>
      parents;  // folders that contain folders: the names of their children may be labels, their own are not
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const std::string end = entry.path().extension().string();
    if (entry.is_directory()) parents.insert(entry.path().parent_path());
    if (entry.is_regular_file() && (end == ".txt" || end == ".md")) files.push_back(entry.path());
  }
  if (labelled) {
    std::erase_if(files, [&](const fs::path& file) {
      const fs::path parent = file.parent_path();
      return parent == folder || parents.contains(parent) || parent.filename() == kUnlabelled;
    });
  }
  std::ranges::sort(files);
  return files;
}

std::vector<Example> read_folder(const fs::path& folder, Wanted wanted, const ExampleColumns& columns) {
  if (wanted == Wanted::translation)
    throw Error(folder.string(), "is a folder; translations must be in a .csv, .tsv or .jsonl file");
  if (columns.text || columns.label)
    throw Error(folder.string(), "is a folder; only .csv, .tsv and .jsonl files have columns");
  const bool labelled = wanted == Wanted::label;
  std::vector<Example> examples;
  for (const fs::path& file : text_files(folder, labelled)) {
    std::string text = base::read_file(file);
    if (const auto bad = base::first_bad_byte(text))
      throw Error(file.string(), "not UTF-8", static_cast<std::int64_t>(*bad));
    if (is_blank(text)) {
      if (labelled) throw Error(file.string(), "has no text");
      continue;
    }
    examples.push_back({std::move(text), labelled ? file.parent_path().filename().string() : ""});
  }
  if (examples.empty() && labelled) {
    throw Error(folder.string(), "has no .txt or .md file in a folder named after its label");
  }
  return examples;
}

}  // namespace

std::vector<Example> read_examples(const fs::path& path, Wanted wanted, const ExampleColumns& columns) {
  std::vector<Example> examples =
      fs::is_directory(path) ? read_folder(path, wanted, columns) : read_lines(path, wanted, columns);
  if (examples.empty()) {
    throw Error(path.string(), fs::is_directory(path) ? "has no .txt or .md file with a text" : "has no texts");
  }
  return examples;
}

bool held_out(std::string_view text, double share) {
  if (!(share >= 0 && share <= 1)) {
    throw std::invalid_argument("the held-out share is " + number_text(share) + "; it must be from 0 to 1");
  }
  return base::hash_of(text) % 1000 < static_cast<std::uint64_t>(std::llround(share * 1000));
}

std::uint64_t fingerprint(std::span<const Example> examples) noexcept {
  std::uint64_t hash = base::kHashOfNothing;
  // Two bytes that never occur in UTF-8 separate the parts.
  for (const auto& [text, label] : examples)
    hash = base::hash_of("\xFE", base::hash_of(label, base::hash_of("\xFF", base::hash_of(text, hash))));
  return hash;
}

}  // namespace attn::text
