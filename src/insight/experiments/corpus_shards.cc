#include "insight/experiments/corpus_shards.h"

#include <chrono>
#include <cstring>
#include <map>
#include <thread>
#include <utility>

namespace attn::insight {

namespace {

// Iterates over the texts, shard by shard.
class Shards {
 public:
  explicit Shards(const ShardTexts& texts) : texts_(texts), read_(0) {
    while (read_ < texts_.from && texts_.next()) ++read_;
    read_ahead();
  }

  // Advances to the beginning of shard `number`; returns whether it exists. Shard 0 starts at text `from`.
  bool go_to(std::int64_t number) {
    for (; number_ < number; ++number_) {
      while (next()) {
      }
      taken_ = 0;
      bytes_ = 0;
    }
    return ahead_.has_value();
  }

  // The next text of this shard; none at its end.
  std::optional<std::string> next() {
    if (!ahead_ || taken_ == kShardTexts || bytes_ >= kShardBytes) return std::nullopt;
    std::optional<std::string> text = std::move(ahead_);
    ++taken_;
    bytes_ += text->size();
    read_ahead();
    return text;
  }
  // Number of texts of this shard that next() has returned.
  [[nodiscard]] std::int64_t taken() const noexcept { return taken_; }

 private:
  void read_ahead() {
    ahead_ = texts_.limit > 0 && read_ >= texts_.limit ? std::nullopt : texts_.next();
    ++read_;
  }

  const ShardTexts& texts_;
  std::int64_t read_;
  std::optional<std::string> ahead_;
  std::int64_t number_ = 0;
  std::int64_t taken_ = 0;
  std::size_t bytes_ = 0;
};

// The header of a message to rank 0. The sums follow if it is about a shard.
struct Heading {
  std::int64_t shard = 0;
  std::int64_t texts = 0;
};
constexpr std::int64_t kHasLeft = -1, kHasFailed = -2;  // instead of a shard: the last message of a rank

std::string letter_of(const Heading& heading, const std::string& sums) {
  std::string bytes(sizeof heading, '\0');
  std::memcpy(bytes.data(), &heading, sizeof heading);
  return bytes + sums;
}

constexpr auto kPause = std::chrono::microseconds(500);  // between two polls, so that idle ranks free their core

// What all ranks do: read shards until there are no more, or until this rank must stop.
class ShardReader {
 public:
  ShardReader(const Corpus& like, const ShardTexts& texts, Ranks& ranks, ThreadPool& pool)
      : ranks_(ranks), like_(like), texts_(texts), pool_(pool) {}
  virtual ~ShardReader() = default;
  ShardReader(const ShardReader&) = delete;
  ShardReader& operator=(const ShardReader&) = delete;

 protected:
  // Polls for messages; returns whether to continue.
  virtual bool look(std::int64_t taken) = 0;
  virtual void take(const Heading& heading, std::string sums) = 0;  // as Corpus::save() writes them

  void read_shards() {
    Shards shards(texts_);
    while (true) {
      const std::int64_t number = ranks_.next();
      if (!shards.go_to(number)) return;
      Corpus sums = like_.fresh();
      while (const std::optional<std::string> text = shards.next()) {
        sums.add(*text, pool_);
        if (!look(shards.taken())) return;
      }
      sums.finish(pool_);
      take({number, shards.taken()}, sums.save());
      if (!look(0)) return;
    }
  }

  Ranks& ranks_;

 private:
  const Corpus& like_;
  const ShardTexts& texts_;
  ThreadPool& pool_;
};

// Any rank but 0. It receives a single message, its dismissal, which arrives before or after its own last message.
class Helper final : public ShardReader {
 public:
  using ShardReader::ShardReader;

  void run() {
    try {
      read_shards();
    } catch (...) {
      leave(kHasFailed);
      throw;
    }
    leave(kHasLeft);
  }

 private:
  bool look(std::int64_t) override {
    if (ranks_.poll()) dismissed_ = true;
    return !dismissed_;
  }
  void take(const Heading& heading, std::string sums) override { ranks_.post(letter_of(heading, sums), 0); }

  void leave(std::int64_t why) {
    ranks_.post(letter_of({why, 0}, {}), 0);
    while (look(0)) std::this_thread::sleep_for(kPause);
    ranks_.flush();
  }

  bool dismissed_ = false;
};

// Rank 0, which merges the sums.
class Leader final : public ShardReader {
 public:
  using Between = std::function<void(const ShardsSoFar&)>;
  struct Books {
    Corpus& sums;
    const Between& between;
  };
  Leader(const Books& books, const ShardTexts& texts, Ranks& ranks, ThreadPool& pool)
      : ShardReader(books.sums, texts, ranks, pool), books_(books), in_sums_(texts.from) {}

  void run() {
    try {
      read_shards();
      while (away_ + 1 < ranks_.size() && look(0)) std::this_thread::sleep_for(kPause);
    } catch (...) {
      dismiss();
      throw;
    }
    dismiss();
  }

 private:
  struct Part {
    std::int64_t texts;
    std::string sums;
  };

  bool look(std::int64_t taken) override {
    while (const std::optional<Letter> letter = ranks_.poll()) {
      const Heading heading = read(*letter);
      if (heading.shard >= 0) take(heading, letter->bytes.substr(sizeof heading));
    }
    books_.between({in_sums_, in_sums_ + kept_texts_ + taken});
    return !failed_;
  }

  Heading read(const Letter& letter) {
    Heading heading;
    std::memcpy(&heading, letter.bytes.data(), sizeof heading);
    if (heading.shard < 0) ++away_;
    if (heading.shard == kHasFailed) failed_ = true;
    return heading;
  }

  void take(const Heading& heading, std::string sums) override {
    kept_.emplace(heading.shard, Part{heading.texts, std::move(sums)});
    kept_texts_ += heading.texts;
    for (auto first = kept_.begin(); first != kept_.end() && first->first == shards_; first = kept_.erase(first)) {
      books_.sums.merge(first->second.sums);
      in_sums_ += first->second.texts;
      kept_texts_ -= first->second.texts;
      ++shards_;
    }
  }

  void dismiss() {
    for (int rank = 1; rank < ranks_.size(); ++rank) ranks_.post({}, rank);
    while (away_ + 1 < ranks_.size()) {
      if (const std::optional<Letter> letter = ranks_.poll()) {
        static_cast<void>(read(*letter));
      } else {
        std::this_thread::sleep_for(kPause);
      }
    }
    ranks_.flush();
  }

  Books books_;
  std::int64_t shards_ = 0;            // number of shards in the sums
  std::int64_t in_sums_;               // number of texts in the sums
  std::map<std::int64_t, Part> kept_;  // shards that arrived before their turn
  std::int64_t kept_texts_ = 0;
  int away_ = 0;  // number of ranks whose last message has arrived
  bool failed_ = false;
};

}  // namespace

void add_shards(Corpus& sums, const ShardTexts& texts, const std::function<void(const ShardsSoFar&)>& between,
                Ranks& ranks, ThreadPool& pool) {
  ranks.start_counter(0);
  if (ranks.rank() == 0) {
    Leader({sums, between}, texts, ranks, pool).run();
  } else {
    Helper(sums, texts, ranks, pool).run();
  }
}

}  // namespace attn::insight
