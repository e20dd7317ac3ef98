// insight/experiments/corpus.h - statistics per head, averaged over many texts.
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
  std::int64_t max_tokens = 512;  // longer texts are truncated to this, or to the model's limit if that is smaller
};

struct CorpusCounts {
  std::int64_t texts = 0;   // texts that the model has read
  std::int64_t cut = 0;     // of these, truncated at max_tokens
  std::int64_t empty = 0;   // texts without tokens, which are skipped
  std::int64_t tokens = 0;  // of all texts read
};

// Averages statistics() over texts; each text counts once, however long it is. Covers heads of kind self, which read
// the text. Sums are double and follow the order of the texts, and batches depend on the texts alone: the result has
// the same bits for any number of threads.
class Corpus {
 public:
  // `reader` must outlive it.
  Corpus(const model::Reader& reader, const CorpusOptions& options);

  // Queues a text until the queued tokens make a batch for the model; finish() runs the rest. Skips texts that have
  // special tokens only.
  void add(std::string_view text, ThreadPool& pool);
  void finish(ThreadPool& pool);

  // Counts, means and saved sums cover the texts that have been run, not the queued ones.
  [[nodiscard]] const CorpusCounts& counts() const noexcept { return sums_.texts; }
  // Leaves received, outgoing and diagonal empty, because they belong to one text; queries and keys are the mean
  // length. Throws std::invalid_argument if there was no text.
  [[nodiscard]] std::vector<HeadStatistics> means() const;

  // The sums as JSON, to resume later or to merge with other parts of the corpus. load() replaces the sums, merge()
  // adds to them; both throw std::invalid_argument, and change nothing, if `saved` has another shape.
  [[nodiscard]] std::string save() const;
  void load(const std::string& saved);
  void merge(const std::string& saved);
  // An empty corpus with the same model and options.
  [[nodiscard]] Corpus fresh() const { return {reader_, options_}; }

 private:
  struct Waiting {
    std::vector<text::Token> tokens;
    bool cut = false;
  };
  // Over the texts that have been run.
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
  std::int64_t waiting_empty_ = 0;  // empty texts, counted when the batch is run
  Sums sums_;
};

}  // namespace attn::insight
