// apps/cli/commands/classify_data.cc - attnscope classify --data: many texts, and the accuracy if they have labels.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>
#include <vector>

#include "apps/cli/commands/classify.h"
#include "apps/cli/output/json.h"
#include "apps/cli/output/progress.h"
#include "apps/cli/output/terminal.h"
#include "attn/error.h"
#include "model/run/classify.h"
#include "text/datasets/examples.h"

namespace attn::cli {

namespace {

constexpr std::int64_t kBatchTokens = 4096;

struct ClassifiedText {
  std::int64_t label = 0;
  std::int64_t given = -1;                // label in the data; -1: none
  std::vector<float> probabilities = {};  // by label
  bool cut = false;
};

// The model's label that a word of the data stands for: by name, ignoring case, or by number. -1: none.
std::int64_t label_of(const std::string& word, const std::vector<std::string>& labels) {
  const auto same = [](char a, char b) {
    return a == b || ((a ^ b) == 0x20 && ((a | 0x20) >= 'a') && ((a | 0x20) <= 'z'));
  };
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (labels[i] == word) return static_cast<std::int64_t>(i);
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (std::ranges::equal(labels[i], word, same)) return static_cast<std::int64_t>(i);
  std::int64_t number = -1;
  const auto [end, problem] = std::from_chars(word.data(), word.data() + word.size(), number);
  const bool whole = problem == std::errc() && end == word.data() + word.size();
  return whole && number >= 0 && number < std::ssize(labels) ? number : -1;
}

std::vector<std::int64_t> given_labels(std::span<const text::Example> examples, const model::Facts& facts,
                                       const std::string& file) {
  std::vector<std::int64_t> given;
  for (const text::Example& example : examples) {
    given.push_back(label_of(example.label, facts.labels));
    if (given.back() < 0)
      throw Error(file, fmt::format("the model has no label '{}'; its labels are {}", on_one_line(example.label),
                                    fmt::join(facts.labels, ", ")));
  }
  return given;
}

// Collects texts and runs the model on them in batches.
class ClassifiedTexts {
 public:
  ClassifiedTexts(const model::Reader& reader, ThreadPool& pool) : reader_(reader), pool_(pool) {}

  void add(const text::Example& example) {
    text::Encoding encoding = reader_.tokenizer.encode(example.text);
    const std::int64_t most = reader_.model->facts().max_tokens;
    const bool cut = most > 0 && std::ssize(encoding.tokens) > most;
    if (cut) model::cut_to(encoding.tokens, most);
    classified_.push_back({.cut = cut});
    tokens_ += std::ssize(encoding.tokens);
    waiting_.push_back(std::move(encoding));
    if (tokens_ >= kBatchTokens) run();
  }
  std::vector<ClassifiedText> finish() {
    if (!waiting_.empty()) run();
    return std::move(classified_);
  }

 private:
  void run() {
    const nn::Matrix logits = model::classify(reader_, waiting_, pool_);
    for (std::int64_t i = 0; i < logits.rows(); ++i) {
      ClassifiedText& classified = classified_[classified_.size() - waiting_.size() + static_cast<std::size_t>(i)];
      const auto choices =
          label_choices(reader_.model->facts(), {logits.row(i), static_cast<std::size_t>(logits.columns())});
      classified.label = choices.front().id;
      classified.probabilities.resize(choices.size());
      for (const model::Choice& choice : choices)
        classified.probabilities[static_cast<std::size_t>(choice.id)] = static_cast<float>(choice.probability);
    }
    waiting_.clear();
    tokens_ = 0;
  }

  const model::Reader& reader_;
  ThreadPool& pool_;
  std::vector<ClassifiedText> classified_;
  std::vector<text::Encoding> waiting_;
  std::int64_t tokens_ = 0;
};

// Counts of each predicted label and, if the data has labels, the confusion matrix [given][found].
struct ClassTally {
  std::int64_t texts = 0, cut = 0, right = 0;
  bool labelled = false;
  std::vector<std::int64_t> found;
  std::vector<std::vector<std::int64_t>> confusion;

  ClassTally(const std::vector<ClassifiedText>& all, std::size_t labels)
      : texts(std::ssize(all)), found(labels), confusion(labels, std::vector<std::int64_t>(labels)) {
    for (const ClassifiedText& classified : all) {
      const auto label = static_cast<std::size_t>(classified.label);
      cut += classified.cut ? 1 : 0;
      ++found[label];
      if (classified.given < 0) continue;
      labelled = true;
      right += classified.given == classified.label ? 1 : 0;
      ++confusion[static_cast<std::size_t>(classified.given)][label];
    }
  }
  [[nodiscard]] double accuracy() const { return static_cast<double>(right) / static_cast<double>(texts); }
};

Json to_json(const ClassTally& tally, const std::vector<ClassifiedText>& all, const std::vector<std::string>& labels) {
  Json json = {{"labels", labels}, {"texts", tally.texts}, {"cut", tally.cut}, {"found", tally.found}};
  if (tally.labelled) {
    json["right"] = tally.right;
    json["accuracy"] = static_cast<float>(tally.accuracy());
    json["confusion"] = tally.confusion;
  }
  json["answers"] = Json::array();
  for (const ClassifiedText& classified : all) {
    Json one = {{"label", labels[static_cast<std::size_t>(classified.label)]},
                {"probabilities", classified.probabilities}};
    if (classified.given >= 0) one["given"] = labels[static_cast<std::size_t>(classified.given)];
    json["answers"].push_back(std::move(one));
  }
  return json;
}

std::string to_table(const ClassTally& tally, const std::vector<std::string>& labels, const Terminal& terminal) {
  int widest = 5;
  std::vector<std::string> names;
  for (const std::string& label : labels) {
    names.push_back(on_one_line(label));
    widest = std::max(widest, columns_of(names.back()));
  }
  widest = std::min(widest, 24);
  const auto cell = [&](std::int64_t count) { return right(grouped(count), std::max(widest, 9)); };
  std::string out;
  if (tally.labelled) {
    out += fmt::format("{} of {} texts match their labels: accuracy {}\n\n", grouped(tally.right), grouped(tally.texts),
                       terminal.bold(fmt::format("{:.4f}", tally.accuracy())));
    out += terminal.dim(fitted("given", widest) + "  found:");
    for (const std::string& name : names)
      out += "  " +
             terminal.dim(repeat(" ", std::max(widest, 9) - columns_of(fitted(name, widest))) + fitted(name, widest));
    out += "\n";
    for (std::size_t i = 0; i < names.size(); ++i) {
      out += terminal.bold(fitted(names[i], widest)) + "        ";
      for (const std::int64_t count : tally.confusion[i]) out += "  " + cell(count);
      out += "\n";
    }
  } else {
    for (std::size_t i = 0; i < names.size(); ++i) {
      const double share = static_cast<double>(tally.found[i]) / static_cast<double>(tally.texts);
      out += fmt::format("{}  {}  {}\n", terminal.bold(fitted(names[i], widest)), cell(tally.found[i]),
                         terminal.bar(share, 32));
    }
  }
  if (tally.cut > 0)
    out +=
        "\n" + terminal.note(fmt::format("{} texts were cut to the most tokens the model takes.", grouped(tally.cut)));
  return without_blank_ends(out);
}

}  // namespace

void ClassifyCommand::run_data(const std::string& file, const model::Reader& reader, ThreadPool& pool) const {
  const model::Facts& facts = reader.model->facts();
  std::vector<text::Example> examples = text::read_examples(file, labelled ? text::Wanted::label : text::Wanted::text,
                                                            {.text = text_column, .label = label_column});
  if (held_out)
    or_usage(
        [&] { std::erase_if(examples, [&](const text::Example& e) { return !text::held_out(e.text, *held_out); }); });
  if (limit > 0 && limit < std::ssize(examples)) examples.resize(static_cast<std::size_t>(limit));
  if (examples.empty()) throw Error(file, "has no text to classify");
  const std::vector<std::int64_t> given =
      labelled ? given_labels(examples, facts, file) : std::vector<std::int64_t>(examples.size(), -1);

  watch_for_interrupt();
  ClassifiedTexts all(reader, pool);
  {
    ProgressLine line;
    for (std::size_t i = 0; i < examples.size(); ++i) {
      all.add(examples[i]);
      line.count(static_cast<std::int64_t>(i + 1), std::ssize(examples), "text");
    }
  }
  std::vector<ClassifiedText> classified = all.finish();
  for (std::size_t i = 0; i < classified.size(); ++i) classified[i].given = given[i];
  const ClassTally tally(classified, facts.labels.size());
  print(json ? as_line(to_json(tally, classified, facts.labels))
             : to_table(tally, facts.labels, Terminal::of_stdout()));
}

}  // namespace attn::cli
