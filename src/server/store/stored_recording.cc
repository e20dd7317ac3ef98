#include "server/store/stored_recording.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "insight/blocks/picture.h"
#include "insight/statistics/check.h"
#include "insight/statistics/statistics.h"
#include "insight/tables/word_boundary.h"
#include "insight/tables/words.h"
#include "server/http/encode.h"

namespace attn::server {

namespace {

// The largest valid weight, with the same tolerance as insight's check.
double highest_of(const insight::AttentionTables& tables, const insight::HeadId& head) {
  double bound = insight::sum_bound(0);
  if (tables.recording() == nullptr) return 1 + bound;
  const model::AttentionRecord& record = tables.recording()->log.attention(head.kind, head.layer);
  for (std::int64_t i = 0; i < record.queries; ++i) {
    const float lse = record.lse.row(head.head)[i];
    if (std::isfinite(lse)) bound = std::max(bound, insight::sum_bound(lse));
  }
  return 1 + bound;
}

// Rejects numbers outside the range of weights, which the page's 8 or 16 bits could not represent.
void need_weights(View<const float, 2> block, double highest) {
  for (std::int64_t r = 0; r < block.shape[0]; ++r) {
    const float* const row = block.at(r);
    const float* const end = row + block.shape[1];
    const float* const wrong = std::find_if_not(row, end, [&](float w) { return w >= 0 && w <= highest; });
    if (wrong == end) continue;
    throw std::invalid_argument("the page shows weights from 0 to 1, and " + insight::short_number(*wrong) +
                                " is not one; a heatmap draws any table");
  }
}

HeadSummary summary_of(const insight::AttentionTables& tables, const nn::Matrix& induction, ThreadPool& pool,
                       const base::Progress& progress) {
  if (tables.numbers() != insight::Numbers::weights) {
    throw std::invalid_argument("the page shows weights from 0 to 1, not " + std::string(name_of(tables.numbers())) +
                                "; a heatmap draws any table");
  }
  // Statistics and thumbnails both need every weight. Rebuilding the weights is most of the work, so do it once.
  std::vector<insight::Shrinking> thumbnails;
  std::vector<double> highest;
  for (const insight::HeadId& head : tables.heads()) {
    thumbnails.emplace_back(tables, head, kThumbnail, insight::Reduce::max);
    highest.push_back(highest_of(tables, head));
  }
  const auto also = [&](std::int64_t head, Rectangle at, View<const float, 2> block) {
    need_weights(block, highest[static_cast<std::size_t>(head)]);
    thumbnails[static_cast<std::size_t>(head)].take(at, block);
  };
  auto statistics = insight::statistics(tables, {.progress = progress, .also = also}, pool);
  std::map<Kind, std::string> bytes;
  for (std::size_t n = 0; n < thumbnails.size(); ++n)
    bytes[statistics[n].name.kind] += coded(thumbnails[n].finish().cells);
  HeadSummary summary{insight::HeadsReport(std::move(statistics), induction), std::move(bytes)};
  for (insight::HeadReport& head : summary.report.heads)
    head.statistics.received = head.statistics.outgoing = head.statistics.diagonal = {};
  return summary;
}

}  // namespace

const HeadSummary& StoredTables::summary(ThreadPool& pool, const base::Progress& progress) const {
  summarising_.join(progress, [&](const base::Progress& all) {
    const auto none = std::make_shared<const nn::Matrix>();
    std::shared_ptr<const nn::Matrix> induction = none;
    if (recording_ != nullptr) induction = {none, &recording_->induction};
    if (induction->empty() && induction_) {
      const auto pulse = [&](std::int64_t, std::int64_t) { base::tell(all, 0, std::ssize(tables_->heads())); };
      induction = induction_(pulse, pool);
    }
    summary_ = std::make_unique<const HeadSummary>(summary_of(*tables_, *induction, pool, all));
  });
  return *summary_;
}

namespace {

std::int64_t bytes_of(const insight::AttentionTables& tables) {
  std::int64_t numbers = 0;
  if (const model::Recording* const recording = tables.recording(); recording != nullptr) {
    for (const nn::Matrix* const one : {&recording->hidden, &recording->target_hidden})
      numbers += one->rows() * one->columns();
    return recording->log.bytes() + numbers * static_cast<std::int64_t>(sizeof(float));
  }
  for (const insight::AttentionStack& stack : tables.stacks())
    numbers += stack.layers * stack.heads * stack.queries * stack.keys;
  return numbers * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace

StoredRecording::StoredRecording(std::string id, std::string name,
                                 const std::shared_ptr<const insight::AttentionTables>& tables, Provenance provenance)
    : id_(std::move(id)),
      name_(std::move(name)),
      provenance_(std::move(provenance)),
      bytes_(bytes_of(*tables)),
      as_it_is_(tables, tables->recording(), provenance_.induction) {}

std::string StoredRecording::text() const {
  constexpr std::size_t kMost = 64;  // tokens shown in place of the text
  const model::Recording* const recording = as_it_is_.recording();
  if (recording != nullptr && !recording->origin.text.text.empty()) return recording->origin.text.text;
  const insight::AttentionTables& tables = as_it_is_.tables();
  const std::vector<text::Token>& tokens = tables.queries(tables.stacks().front().kind);
  std::string text;
  for (std::size_t i = 0; i < tokens.size() && i < kMost; ++i) {
    if (i > 0) text += ' ';
    text += insight::without_spaces_around(tokens[i].text);
  }
  return tokens.size() > kMost ? text + " …" : text;
}

std::optional<std::string> StoredRecording::pair() const {
  const model::Recording* const recording = as_it_is_.recording();
  return recording == nullptr ? std::nullopt : recording->origin.text.pair;
}

std::int64_t StoredRecording::tokens() const { return as_it_is_.tables().stacks().front().queries; }

const StoredTables& StoredRecording::stored_tables(bool words) const {
  if (!words) return as_it_is_;
  std::call_once(merged_, [&] {
    words_ = std::make_unique<const StoredTables>(insight::merged_words(as_it_is_.shared()), as_it_is_.recording(),
                                                  provenance_.induction);
  });
  return *words_;
}

std::shared_ptr<const insight::AttentionTables> StoredRecording::viewed(const insight::ViewOptions& view) const {
  if (view.measure == insight::Measure::raw && !view.without_sinks) return stored_tables(view.words).shared();
  const std::scoped_lock lock(viewing_);
  std::shared_ptr<const insight::AttentionTables>& kept = viewed_[view.key()];
  if (!kept) kept = insight::view(as_it_is_.shared(), view);
  return kept;
}

}  // namespace attn::server
