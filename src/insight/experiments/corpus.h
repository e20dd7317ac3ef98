// insight/experiments/corpus.h - statistics of heads over many texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attn/thread_pool.h"
#include "insight/statistics/statistics.h"
#include "model/recording/recording.h"

namespace attn::insight {

struct CorpusOptions {
  std::int64_t beyond = 16;
  std::int64_t max_tokens = 512;  // longer texts are cut, and at what the model takes
};

struct CorpusCounts {
  std::int64_t texts = 0;   // that were read
  std::int64_t cut = 0;     // of these, at max_tokens
  std::int64_t empty = 0;   // that were left out
  std::int64_t tokens = 0;  // of all texts that were read
};

// Each text counts once, however long it is: numbers are means over texts of what statistics() says of each. Heads of
// kind self: those that read the text. Sums are made in double and in the order of the texts, and batches depend on the
// texts alone: the same bits come out whatever the number of threads.
class Corpus {
 public:
  // `reader` must outlive it.
  Corpus(const model::Reader& reader, const CorpusOptions& options);

  // A text waits until as many tokens have come together as make a batch for the model; finish() runs those that wait.
  // Texts without any token but special ones are left out.
  void add(std::string_view text, ThreadPool& pool);
  void finish(ThreadPool& pool);

  // Of the texts that do not wait, as all that follows.
  [[nodiscard]] const CorpusCounts& counts() const noexcept { return sums_.texts; }
  // Without received, outgoing and diagonal, which are of one text; queries and keys are the mean length. Throws
  // std::invalid_argument if there was no text.
  [[nodiscard]] std::vector<HeadStatistics> means() const;

  // All of it as JSON, to go on another time or to be put together with other parts of the corpus. load() takes its
  // place, merge() adds it; both throw std::invalid_argument, and change nothing, if `saved` is of another shape.
  [[nodiscard]] std::string save() const;
  void load(const std::string& saved);
  void merge(const std::string& saved);
  // One without texts, of the same model and options.
  [[nodiscard]] Corpus fresh() const { return {reader_, options_}; }

 private:
  struct Waiting {
    std::vector<text::Token> tokens;
    bool cut = false;
  };
  // Of the texts that do not wait.
  struct Sums {
    CorpusCounts texts;
    std::vector<std::vector<double>> heads;  // [heads][numbers]
    std::vector<std::int64_t> counts;        // [numbers]: texts that have such a number
    std::int64_t duplicate_queries = 0, induction_queries = 0;
  };
  void run_batch(ThreadPool& pool);
  void add_to_sums(const std::vector<HeadStatistics>& heads);
  [[nodiscard]] Sums parsed(const std::string& saved) const;

  const model::Reader& reader_;
  CorpusOptions options_;
  std::vector<Waiting> waiting_;
  std::int64_t waiting_tokens_ = 0;
  std::int64_t waiting_empty_ = 0;  // counted with the batch
  Sums sums_;
};

}  // namespace attn::insight
