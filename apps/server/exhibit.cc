#include "server/exhibit.h"

#include <utility>
#include <vector>

#include "insight/picture.h"
#include "insight/statistics.h"
#include "insight/words.h"
#include "insight/words_boundary.h"
#include "server/encode.h"

namespace attn::server {

namespace {

Survey survey_of(const insight::Specimen& specimen, const nn::Matrix& induction, ThreadPool& pool,
                 const insight::Progress& progress) {
  // Statistics and thumbnails need every weight; rebuilding them is most of the work, so it is done once for both.
  std::vector<insight::Shrinking> thumbnails;
  for (const insight::HeadName& head : specimen.heads())
    thumbnails.emplace_back(specimen, head, kThumbnail, insight::Reduce::max);
  const auto also = [&](std::int64_t head, Rectangle at, View<const float, 2> tile) {
    thumbnails[static_cast<std::size_t>(head)].take(at, tile);
  };
  auto statistics = insight::statistics(specimen, {.progress = progress, .also = also}, pool);
  std::map<Kind, std::string> bytes;
  for (std::size_t n = 0; n < thumbnails.size(); ++n)
    bytes[statistics[n].name.kind] += coded(thumbnails[n].finish().cells);
  Survey survey{insight::HeadsReport(std::move(statistics), induction), std::move(bytes)};
  for (insight::HeadReport& head : survey.report.heads)
    head.statistics.received = head.statistics.outgoing = head.statistics.diagonal = {};
  return survey;
}

}  // namespace

const Survey& Exposure::survey(ThreadPool& pool, const insight::Progress& progress) const {
  static const nn::Matrix none;
  const std::scoped_lock lock(mutex_);
  if (!survey_) survey_ = survey_of(*specimen_, reading_ == nullptr ? none : reading_->induction, pool, progress);
  return *survey_;
}

Exhibit::Exhibit(std::string id, std::string name, const std::shared_ptr<const insight::Specimen>& specimen)
    : id_(std::move(id)), name_(std::move(name)), as_it_is_(specimen, specimen->reading()) {}

std::string Exhibit::text() const {
  constexpr std::size_t kMost = 64;  // tokens that stand for it
  const model::Reading* const reading = as_it_is_.reading();
  if (reading != nullptr && !reading->origin.text.text.empty()) return reading->origin.text.text;
  const insight::Specimen& specimen = as_it_is_.specimen();
  const std::vector<text::Token>& tokens = specimen.queries(specimen.stacks().front().kind);
  std::string text;
  for (std::size_t i = 0; i < tokens.size() && i < kMost; ++i) {
    if (i > 0) text += ' ';
    text += insight::without_spaces_around(tokens[i].text);
  }
  return tokens.size() > kMost ? text + " …" : text;
}

std::int64_t Exhibit::tokens() const { return as_it_is_.specimen().stacks().front().queries; }

const Exposure& Exhibit::exposure(bool words) const {
  if (!words) return as_it_is_;
  std::call_once(merged_, [&] {
    words_ = std::make_unique<const Exposure>(insight::merged_words(as_it_is_.shared()), as_it_is_.reading());
  });
  return *words_;
}

}  // namespace attn::server
