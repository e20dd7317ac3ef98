// server/routes/predictions.cc - what a model predicts, before and after a change.
#include "server/routes/predictions.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "insight/experiments/ablation.h"
#include "insight/io/json.h"
#include "model/run/classify.h"
#include "server/jobs/record.h"
#include "server/routes/record_request_json.h"

namespace attn::server {

namespace {

constexpr std::int64_t kMostPlaces = 64;  // unless the query names the places
constexpr std::int64_t kMostWords = 100;

// A stored recording with the model that made it.
struct Live {
  std::shared_ptr<const StoredRecording> stored;
  std::shared_ptr<const model::Reader> reader;

  Live(RecordingStore& store, std::shared_ptr<const StoredRecording> one)
      : stored(std::move(one)), reader(store.reader_of(*stored)) {
    if (hidden().empty() || recording().hidden.empty())
      throw HttpError(409, "the model's output was not recorded: this recording can only be viewed");
  }

  [[nodiscard]] const model::Recording& recording() const { return *stored->stored_tables(false).recording(); }
  [[nodiscard]] const model::Facts& facts() const { return reader->model->facts(); }
  [[nodiscard]] bool answers() const { return facts().form == model::Form::encoder_decoder; }
  [[nodiscard]] const nn::Matrix& hidden() const { return answers() ? recording().target_hidden : recording().hidden; }
  // The tokens that places count in.
  [[nodiscard]] const std::vector<text::Token>& tokens() const {
    return answers() ? recording().target : recording().tokens;
  }
};

struct RequestedPlaces {
  std::string what;
  std::vector<std::int64_t> at;
};

RequestedPlaces places_of(const Live& live, const std::vector<std::int64_t>& request) {
  const auto& tokens = live.tokens();
  for (const std::int64_t place : request) insight::need_index("token", place, std::ssize(tokens));
  const std::int32_t gap = live.reader->tokenizer.special().mask;
  const bool gaps = request.empty() && std::ranges::any_of(tokens, [&](const auto& t) { return t.id == gap; });
  const model::Form form = live.facts().form;
  const char* const what = form == model::Form::decoder ? "next" : live.answers() ? "target" : gaps ? "gaps" : "tokens";
  if (!live.facts().has_logits) return {what, {}};
  RequestedPlaces places{what, insight::places_of(*live.reader, live.recording(), request).at};
  if (request.empty() && std::ssize(places.at) > kMostPlaces) places.at.resize(kMostPlaces);
  return places;
}

// Logits [at, vocabulary], divided by the temperature.
nn::Matrix logits_of(const Live& live, const std::vector<std::int64_t>& at, double temperature, ThreadPool& pool) {
  const nn::Matrix& hidden = live.hidden();
  nn::Matrix rows(std::ssize(at), hidden.columns());
  for (std::int64_t i = 0; i < rows.rows(); ++i)
    std::copy_n(hidden.row(at[static_cast<std::size_t>(i)]), hidden.columns(), rows.row(i));
  nn::Matrix logits = live.reader->model->logits(rows.view(), pool);
  if (temperature == 1) return logits;
  const auto divisor = static_cast<float>(temperature);
  std::ranges::for_each(std::span(logits.data(), static_cast<std::size_t>(logits.rows() * logits.columns())),
                        [&](float& x) { x /= divisor; });
  return logits;
}

std::span<const float> row_of(const nn::Matrix& logits, std::size_t place) {
  return {logits.row(static_cast<std::int64_t>(place)), static_cast<std::size_t>(logits.columns())};
}

Json words_json(const std::vector<LikelyWord>& words) {
  Json json = Json::array();
  for (const LikelyWord& word : words) json.push_back(to_json(word));
  return json;
}

// [1, labels]; empty if the model has none.
nn::Matrix label_logits(const Live& live, ThreadPool& pool) {
  return live.facts().labels.empty() ? nn::Matrix() : model::classify(*live.reader, live.recording(), pool);
}

Json labels_json(const Live& live, const Live* against, ThreadPool& pool) {
  const nn::Matrix logits = label_logits(live, pool);
  if (logits.empty()) return nullptr;
  std::vector<model::Choice> before;
  if (against != nullptr) before = model::label_choices(live.facts(), row_of(label_logits(*against, pool), 0));
  Json labels = Json::array();
  for (const model::Choice& choice : model::label_choices(live.facts(), row_of(logits, 0))) {
    labels.push_back({{"label", live.facts().labels[static_cast<std::size_t>(choice.id)]},
                      {"probability", static_cast<float>(choice.probability)}});
    const auto other = std::ranges::find(before, choice.id, &model::Choice::id);
    if (other != before.end()) labels.back()["before"] = static_cast<float>(other->probability);
  }
  return labels;
}

struct WantedPrediction {
  std::int64_t top = 10;
  double temperature = 1;
  std::vector<std::int64_t> at;

  explicit WantedPrediction(const RoutedRequest& request)
      : top(request.number("top", 10)), temperature(request.real("temperature", 1)), at(request.numbers("at")) {
    if (top < 1 || top > kMostWords)
      throw std::invalid_argument("top must be from 1 to " + std::to_string(kMostWords) + ", not " +
                                  std::to_string(top));
    if (temperature < 0.05 || temperature > 5)
      throw std::invalid_argument("temperature must be from 0.05 to 5, not " +
                                  request.text("temperature").value_or("1"));
  }
};

void need_same_places(const Live& live, const Live& against, const RequestedPlaces& places) {
  if (against.stored->provenance().model != live.stored->provenance().model)
    throw HttpError(409, "predictions of two different models cannot be compared");
  for (const std::int64_t place : places.at) {
    if (place < std::ssize(against.tokens())) continue;
    throw HttpError(409, "the other recording has no token " + std::to_string(place) + ": it has " +
                             std::to_string(against.tokens().size()));
  }
}

// Adds the other recording's predictions at a place; returns the divergence.
double add_against(Json& place, std::span<const float> logits, std::span<const float> before, const Live& live) {
  const double total = insight::log_total(before);
  for (Json& choice : place["choices"]) {
    const auto id = choice["id"].get<std::size_t>();
    choice["before"] = static_cast<float>(std::exp(before[id] - total));
  }
  const double kl = insight::kl_divergence(before, logits);
  place["kl"] = static_cast<float>(kl);
  place["against"] = words_json(likeliest_words(live.reader->tokenizer, before, std::ssize(place["choices"])));
  return kl;
}

Json predictions_json(const Live& live, const Live* against, const WantedPrediction& wanted, ThreadPool& pool) {
  const RequestedPlaces places = places_of(live, wanted.at);
  Json list = Json::array();
  double sum = 0;
  if (against != nullptr) need_same_places(live, *against, places);
  if (!places.at.empty()) {
    const nn::Matrix logits = logits_of(live, places.at, wanted.temperature, pool);
    const nn::Matrix before =
        against == nullptr ? nn::Matrix() : logits_of(*against, places.at, wanted.temperature, pool);
    for (std::size_t p = 0; p < places.at.size(); ++p) {
      const auto at = static_cast<std::size_t>(places.at[p]);
      const std::span<const float> row = row_of(logits, p);
      Json place = {{"token", places.at[p]},
                    {"text", live.tokens()[at].text},
                    {"entropy", static_cast<float>(entropy_of(row))},
                    {"choices", words_json(likeliest_words(live.reader->tokenizer, row, wanted.top))}};
      if (live.answers()) place["written"] = live.recording().written[at].text;
      if (against != nullptr) sum += add_against(place, row, row_of(before, p), live);
      list.push_back(std::move(place));
    }
  }
  const bool has_kl = against != nullptr && !list.empty();
  const Json kl = has_kl ? Json(static_cast<float>(sum / static_cast<double>(list.size()))) : Json(nullptr);
  return {{"what", places.what},
          {"temperature", static_cast<float>(wanted.temperature)},
          {"places", std::move(list)},
          {"labels", labels_json(live, against, pool)},
          {"kl", kl}};
}

}  // namespace

Response predictions(RecordingStore& store, const RoutedRequest& request) {
  request.allow({"top", "temperature", "at", "against"});
  const WantedPrediction wanted(request);
  const Live live(store, request.stored);
  std::optional<Live> against;
  if (const auto other = request.text("against")) against.emplace(store, store.find(*other));
  return {200, kJson, store.cache().get(request.key(), [&] {
            return insight::as_line(predictions_json(live, against ? &*against : nullptr, wanted, *store.pool()));
          })};
}

Response effects(RecordingStore& store, const RoutedRequest& request) {
  request.allow({"top", "at"});
  const std::int64_t top = request.number("top", 1'000'000);
  if (top < 1) throw std::invalid_argument("top must be 1 or above, not " + std::to_string(top));
  const Live live(store, request.stored);
  const RequestedPlaces places = places_of(live, request.numbers("at"));
  if (places.at.empty()) throw HttpError(409, "this model predicts no words that could change");
  return {200, kJson, store.cache().get(request.key(), request.progress("head"), [&](const base::Progress& progress) {
            const RecordingStore::Turn turn(store);
            const auto pool = store.pool();
            std::vector<insight::HeadId> heads = insight::heads_of(live.facts());
            std::erase_if(heads, [&](const insight::HeadId& head) {
              return std::ranges::any_of(live.recording().changes.off, [&](const model::HeadOff& off) {
                return insight::HeadId{off.kind, off.layer, off.head} == head;
              });
            });
            const insight::Ablation ablation(*live.reader, live.recording(), places.at, *pool);
            Json list = Json::array();
            for (const auto& effect : ablation.rank(heads, progress, *pool)) {
              if (std::ssize(list) == top) break;
              Json one = insight::to_json(effect.head);
              one["kl"] = static_cast<float>(effect.kl);
              one["likeliest"] = Json::array();
              for (const std::int32_t id : effect.likeliest)
                one["likeliest"].push_back(word_of(live.reader->tokenizer, id));
              list.push_back(std::move(one));
            }
            return insight::as_line(Json{{"what", places.what}, {"places", places.at}, {"heads", std::move(list)}});
          })};
}

}  // namespace attn::server
