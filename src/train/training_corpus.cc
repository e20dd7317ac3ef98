#include "train/training_corpus.h"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

namespace attn::train {
namespace {

constexpr std::int64_t kTextsATask = 64;

struct Tokenized {
  std::vector<std::int32_t> ids, target;
};

std::vector<Tokenized> tokenize(std::span<const text::Example> examples, Task task, const text::Tokenizer& tokenizer,
                                ThreadPool& pool) {
  const bool bare = task != Task::translate;
  const auto count = std::ssize(examples);
  std::vector<Tokenized> all(examples.size());
  pool.run((count + kTextsATask - 1) / kTextsATask, [&](std::int64_t t, int) {
    for (std::int64_t n = t * kTextsATask; n < std::min(count, (t + 1) * kTextsATask); ++n) {
      const auto at = static_cast<std::size_t>(n);
      all[at].ids = tokenizer.ids(examples[at].text, bare);
      if (task == Task::translate) all[at].target = tokenizer.ids(examples[at].label, bare);
    }
  });
  return all;
}

// Label names and their numbers.
std::map<std::string, std::int32_t> number_labels(std::span<const text::Example> examples) {
  std::set<std::string> names;
  for (const text::Example& example : examples) names.insert(example.label);
  if (names.size() < 2) {
    throw std::invalid_argument("all texts have the label '" + *names.begin() +
                                "'; classification needs at least two labels");
  }
  std::map<std::string, std::int32_t> numbers;
  for (const std::string& name : names) numbers.emplace(name, static_cast<std::int32_t>(numbers.size()));
  return numbers;
}

}  // namespace

std::int64_t TrainingCorpus::tokens() const noexcept {
  std::int64_t sum = 0;
  for (const auto& ids : learned.ids) sum += std::ssize(ids);
  for (const auto& ids : learned.targets) sum += std::ssize(ids);
  return sum;
}

TrainingCorpus make_corpus(std::span<const text::Example> examples, Task task, const text::Tokenizer& tokenizer,
                           double held_out, ThreadPool& pool) {
  if (examples.empty()) throw std::invalid_argument("there are no texts to train on");
  TrainingCorpus corpus;
  corpus.fingerprint = text::fingerprint(examples);
  std::map<std::string, std::int32_t> numbers;
  if (task == Task::classify) {
    numbers = number_labels(examples);
    for (const auto& [name, number] : numbers) corpus.labels.push_back(name);
  }
  std::vector<Tokenized> all = tokenize(examples, task, tokenizer, pool);
  for (std::size_t n = 0; n < all.size(); ++n) {
    if (all[n].ids.empty()) continue;
    TextSequences& to = text::held_out(examples[n].text, held_out) ? corpus.held_out : corpus.learned;
    to.ids.push_back(std::move(all[n].ids));
    if (task == Task::translate) to.targets.push_back(std::move(all[n].target));
    if (task == Task::classify) to.labels.push_back(numbers.at(examples[n].label));
  }
  if (corpus.learned.ids.empty()) {
    throw std::invalid_argument(
        "of " + std::to_string(examples.size()) + (examples.size() == 1 ? " text" : " texts") +
        " none is left to train on: all are held out or empty; use more texts, or hold out fewer");
  }
  return corpus;
}

}  // namespace attn::train
