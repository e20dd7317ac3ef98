#include "server/store/recording_store.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "server/http/request.h"

namespace attn::server {

namespace {

std::string megabytes(std::int64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MB"; }

}  // namespace

Desk::Desk(PoolOf pool, std::int64_t cache_bytes, Stock stock)
    : pool_(std::move(pool)),
      cache_(cache_bytes),
      models_(std::move(stock.models), stock.memory),
      memory_(stock.memory) {}

Desk::Turn::Turn(Desk& desk) : working_(desk.working_) {
  if (++working_ <= kMostWork) return;
  --working_;
  throw Refused(429, "there is too much work at once: at most " + std::to_string(kMostWork) + " pieces");
}

Desk::Turn::~Turn() { --working_; }

std::string Desk::add(std::string name, const std::shared_ptr<const insight::Specimen>& specimen,
                      const insight::Progress& progress) {
  std::unique_lock lock(mutex_);
  const std::string id = std::to_string(++named_);
  lock.unlock();
  auto exhibit = std::make_shared<const Exhibit>(id, std::move(name), specimen, provenance(*specimen));
  // Softmax gives weights: a long text's page is there before its minutes of work are done. Other numbers are at hand.
  if (dynamic_cast<const insight::RecordedSpecimen*>(specimen.get()) == nullptr)
    static_cast<void>(exhibit->exposure(false).survey(*pool(), progress));
  lock.lock();
  const std::optional<Recipe>& recipe = exhibit->provenance().recipe;
  const std::string key = recipe ? recipe->key() : "";
  return put(std::move(exhibit), key);
}

std::string Desk::put(std::shared_ptr<const Exhibit> exhibit, std::string key) {
  std::string id = exhibit->id();
  places_.push_back({std::move(exhibit), std::move(key), ++uses_});
  let_go(id);
  return id;
}

// Those that nobody asked for longest go first, but none that stays, nor the newest.
void Desk::let_go(const std::string& newest) {
  while (true) {
    std::int64_t bytes = reserved_, made = 0;
    auto oldest = places_.end();
    for (auto one = places_.begin(); one != places_.end(); ++one) {
      bytes += one->exhibit->bytes();
      if (one->exhibit->provenance().stays) continue;
      ++made;
      if (one->exhibit->id() != newest && (oldest == places_.end() || one->used < oldest->used)) oldest = one;
    }
    if (oldest == places_.end() || (bytes <= memory_ && made <= kMostMade)) return;
    comparisons_.forget(oldest->exhibit->id());
    places_.erase(oldest);
  }
}

std::shared_ptr<const Exhibit> Desk::find(std::string_view id) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find_if(places_, [&](const Place& one) { return one.exhibit->id() == id; });
  if (found == places_.end()) throw Refused(404, "there is no specimen '" + std::string(id) + "'");
  found->used = ++uses_;
  return found->exhibit;
}

std::vector<std::shared_ptr<const Exhibit>> Desk::exhibits() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<const Exhibit>> all;
  for (const Place& one : places_) all.push_back(one.exhibit);
  return all;
}

std::int64_t Desk::kept_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& one : exhibits()) bytes += one->bytes();
  return bytes;
}

// ---- by models ----

std::shared_ptr<const model::Reader> Desk::reader_of(const Exhibit& exhibit) {
  const std::string& name = exhibit.provenance().model;
  if (name.empty()) throw Refused(409, "the model of this specimen is not here: it can only be looked at");
  return models_.reader(name);
}

void Desk::name_model(Provenance& from, const std::string& name) {
  from.model = name;
  from.facts = models_.card(name).facts;
  from.induction = [this, name](const insight::Progress& progress, ThreadPool& pool) {
    return models_.induction(name, progress, pool);
  };
}

// Of what was read elsewhere: by whoever started this, or in a file.
Provenance Desk::provenance(const insight::Specimen& specimen) {
  Provenance from;
  if (specimen.reading() == nullptr) return from;
  const model::Reading& reading = *specimen.reading();
  const std::string name = models_.name_of(reading.origin.model);
  if (name.empty()) return from;
  const model::Facts facts = models_.card(name).facts;
  const insight::Stack& all = specimen.stacks().front();
  if (facts.type != reading.origin.type || facts.layers != all.layers || facts.heads.heads != all.heads) return from;
  name_model(from, name);
  const model::Text& text = reading.origin.text;
  // What was generated has no place in the text that its model was given.
  const bool all_read =
      std::ranges::all_of(reading.tokens, [](const text::Token& token) { return token.special || token.span.to > 0; });
  if (!all_read || text.cut || text.text.empty()) return from;
  from.recipe = Recipe{.model = name, .text = text.text, .pair = text.pair, .target = text.target};
  if (!reading.changes.also.everything()) from.recipe->mask = reading.changes.also.text();
  for (const model::HeadOff& off : reading.changes.off) from.recipe->off.push_back({off.kind, off.layer, off.head});
  return from;
}

std::string Desk::found(const std::string& key) {
  const auto there = std::ranges::find_if(places_, [&](const Place& one) { return one.key == key; });
  if (there == places_.end()) return {};
  there->used = ++uses_;
  return there->exhibit->id();
}

std::string Desk::make(const Order& order) {
  const std::string key = order.recipe.key();
  std::shared_ptr<InHand> hand;
  {
    const std::scoped_lock lock(mutex_);
    if (std::string id = found(key); !id.empty()) return id;
    std::shared_ptr<InHand>& place = in_hand_[key];
    if (!place) place = std::make_shared<InHand>();
    hand = place;
  }
  std::size_t told = 0;
  const auto mine = [&](std::int64_t done, std::int64_t total) {
    insight::tell(order.progress, done, total);
    const std::scoped_lock lock(hand->mutex);
    for (; order.tell && told < hand->steps.size(); ++told)
      order.tell(static_cast<std::int64_t>(told), hand->steps[told]);
  };
  hand->effort.join(mine, [&](const insight::Progress& progress) { work(*hand, order, key, progress); });
  return hand->id;
}

// Whoever comes when it has ended finds what was made, or begins anew.
void Desk::work(InHand& hand, const Order& order, const std::string& key, const insight::Progress& progress) {
  const auto end = [&] {
    const std::scoped_lock lock(mutex_);
    reserved_ -= std::exchange(hand.reserved, 0);
    if (const auto place = in_hand_.find(key); place != in_hand_.end() && place->second.get() == &hand)
      in_hand_.erase(place);
  };
  try {
    const Turn turn(*this);
    hand.steps.clear();
    const auto reader = models_.reader(order.recipe.model);
    const auto pool = pool_();
    const Maker maker{.reader = *reader,
                      .pool = *pool,
                      .reserve = [&](std::int64_t bytes) { reserve(hand, bytes); },
                      .progress = progress,
                      .on_step =
                          [&](Step step) {
                            const std::scoped_lock lock(hand.mutex);
                            hand.steps.push_back(std::move(step));
                          }};
    Made made = server::make(order.recipe, maker);
    Provenance from;
    name_model(from, order.recipe.model);
    from.recipe = order.recipe;
    from.generated = std::move(made.generated);
    from.stays = order.stays;
    const std::scoped_lock lock(mutex_);
    reserved_ -= std::exchange(hand.reserved, 0);
    hand.id = std::to_string(++named_);
    put(std::make_shared<const Exhibit>(hand.id, order.recipe.model, made.specimen, std::move(from)), key);
  } catch (...) {
    end();
    throw;
  }
  end();
}

void Desk::reserve(InHand& hand, std::int64_t bytes) {
  if (bytes > memory_)
    throw Refused(413, "the recording of this text would take " + megabytes(bytes) + "; there are " +
                           megabytes(memory_) + " for all");
  const std::scoped_lock lock(mutex_);
  reserved_ -= std::exchange(hand.reserved, 0);
  if (reserved_ + bytes > memory_)
    throw Refused(429, "there is too much work at once: the memory is taken by other texts that are being read");
  reserved_ += hand.reserved = bytes;
  let_go("");
}

}  // namespace attn::server
