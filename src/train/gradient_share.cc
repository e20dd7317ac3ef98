#include "train/gradient_share.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "base/json_file.h"

namespace attn::train {
namespace {

constexpr std::size_t kBucket = std::size_t{4} << 20;  // floats summed at a time: 16 MB besides the gradients

// First sequence of share r of `size`: where the tokens so far come closest to r / size of all, provided that each
// share has a sequence.
std::size_t first_of(const TrainingBatch& batch, std::size_t r, std::size_t size) {
  const std::size_t count = batch.starts.size() - 1;
  const auto before = [&](std::size_t s) {
    return batch.starts[s] + (batch.source.empty() ? 0 : batch.source_starts[s]);
  };
  std::size_t first = 0;
  for (std::size_t share = 1; share <= r; ++share) {
    const std::int64_t ideal = batch.tokens() * static_cast<std::int64_t>(share) / static_cast<std::int64_t>(size);
    ++first;
    while (first < count - (size - share) && std::abs(before(first + 1) - ideal) <= std::abs(before(first) - ideal)) {
      ++first;
    }
  }
  return first;
}

std::span<const std::int32_t> ids_between(const std::vector<std::int32_t>& all, std::int64_t first, std::int64_t end) {
  return std::span(all).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(end - first));
}

// All gradients as one array, a piece at a time.
class FlatGradients {
 public:
  explicit FlatGradients(nn::Parameters& parameters) {
    for (nn::Parameter& p : parameters.all()) {
      parts_.emplace_back(p.gradient.data(), static_cast<std::size_t>(p.size()));
      size_ += parts_.back().size();
    }
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  // Calls copy(gradient range, piece range) for each stretch of the piece that begins at element `first`.
  template <typename F>
  void each(std::size_t first, std::span<float> piece, const F& copy) const {
    for (const std::span<float> part : parts_) {
      if (first >= part.size()) {
        first -= part.size();
        continue;
      }
      const std::size_t count = std::min(part.size() - first, piece.size());
      copy(part.subspan(first, count), piece.first(count));
      piece = piece.subspan(count);
      if (piece.empty()) return;
      first = 0;
    }
  }

 private:
  std::vector<std::span<float>> parts_;
  std::size_t size_ = 0;
};

}  // namespace

BatchShare share_of(const TrainingBatch& batch, int rank, int size) {
  const std::size_t count = batch.starts.size() - 1;
  if (count < static_cast<std::size_t>(size)) {
    throw std::invalid_argument("a batch of " + std::to_string(count) + " sequences cannot be split over " +
                                std::to_string(size) + " ranks");
  }
  const auto r = static_cast<std::size_t>(rank), of = static_cast<std::size_t>(size);
  const std::size_t first = first_of(batch, r, of), end = first_of(batch, r + 1, of);
  BatchShare share;
  share.part = {.first_sequence = static_cast<std::int64_t>(first),
                .first_row = batch.starts[first],
                .first_source_row = batch.source.empty() ? 0 : batch.source_starts[first],
                .labels = nn::count_labels(batch.labels)};
  for (std::size_t s = first; s < end; ++s) {
    share.batch.add(ids_between(batch.ids, batch.starts[s], batch.starts[s + 1]));
    if (batch.source.empty()) continue;
    share.batch.add_source(ids_between(batch.source, batch.source_starts[s], batch.source_starts[s + 1]));
  }
  const bool by_token = batch.labels.size() == batch.ids.size();
  const std::span<const std::int32_t> labels =
      by_token ? ids_between(batch.labels, batch.starts[first], batch.starts[end])
               : ids_between(batch.labels, static_cast<std::int64_t>(first), static_cast<std::int64_t>(end));
  share.batch.labels.assign(labels.begin(), labels.end());
  return share;
}

void sum_gradients(Ranks& ranks, nn::Parameters& parameters) {
  if (ranks.size() == 1) return;
  const FlatGradients all(parameters);
  std::vector<float> bucket(std::min(kBucket, all.size()));
  for (std::size_t first = 0; first < all.size(); first += bucket.size()) {
    const std::span<float> piece = std::span(bucket).first(std::min(bucket.size(), all.size() - first));
    all.each(first, piece, [](std::span<float> own, std::span<float> sent) { std::ranges::copy(own, sent.begin()); });
    sum(ranks, piece);
    all.each(first, piece, [](std::span<float> own, std::span<float> sum) { std::ranges::copy(sum, own.begin()); });
  }
}

std::optional<nn::Loss> shared_loss(Ranks& ranks, std::size_t count,
                                    const std::function<std::optional<nn::Loss>(std::size_t)>& loss_of) {
  static_assert(std::is_trivially_copyable_v<nn::Loss>);
  const auto size = static_cast<std::size_t>(ranks.size());
  std::string mine;
  for (auto n = static_cast<std::size_t>(ranks.rank()); n < count; n += size) {
    const std::optional<nn::Loss> loss = loss_of(n);
    if (!loss) break;
    mine.append(reinterpret_cast<const char*>(&*loss), sizeof *loss);
  }
  const std::vector<std::string> losses = ranks.gather(mine);
  nn::Loss sum;
  for (std::size_t n = 0; n < count; ++n) {
    const std::string& from = losses[n % size];
    const std::size_t at = n / size * sizeof(nn::Loss);
    if (at >= from.size()) return std::nullopt;
    nn::Loss loss;
    std::memcpy(&loss, from.data() + at, sizeof loss);
    sum += loss;
  }
  return sum;
}

std::string difference(Ranks& ranks, const std::map<std::string, std::string, std::less<>>& mine) {
  const std::vector<std::string> all =
      ranks.gather(nlohmann::json(mine).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  const nlohmann::json first = base::parse_json(all[0], "the settings of rank 0");
  for (std::size_t r = 1; r < all.size(); ++r) {
    if (all[r] == all[0]) continue;
    const nlohmann::json other = base::parse_json(all[r], "the settings of rank " + std::to_string(r));
    std::string words;
    for (const auto& [name, value] : first.items()) {
      const std::string here = value.get<std::string>(), there = other.value(name, "nothing");
      if (there == here) continue;
      words += (words.empty() ? "" : ", ") + name + " is " + there + " there and " + here + " on rank 0";
    }
    return "rank " + std::to_string(r) + " has different settings: " + words;
  }
  return {};
}

}  // namespace attn::train
