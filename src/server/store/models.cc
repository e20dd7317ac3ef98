#include "server/store/models.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "insight/statistics/induction.h"

namespace attn::server {

std::string ModelList::add(const std::string& name, const base::Folder& folder, bool given) {
  for (ModelSource& one : sources_) {
    if (one.folder.name() != folder.name()) continue;
    one.given = one.given || given;
    one.request = name;
    return one.name;
  }
  const std::string short_name = model::Origin{.model = name, .type = {}, .form = {}, .text = {}}.short_name();
  const bool taken = std::ranges::find(sources_, short_name, &ModelSource::name) != sources_.end();
  sources_.push_back({.name = taken ? name : short_name, .folder = folder, .given = given, .request = name});
  return sources_.back().name;
}

struct Models::Entry {
  explicit Entry(ModelSource of) : source(std::move(of)), reader(source.reader) {}

  ModelSource source;
  model::Facts facts;
  std::mutex loading;
  std::shared_ptr<const model::Reader> reader;  // null: not loaded
  std::uint64_t used = 0;
  SharedTask finding;
  std::shared_ptr<const nn::Matrix> induction;
};

Models::Models(std::vector<ModelSource> sources, std::int64_t memory) : memory_(memory) {
  for (ModelSource& source : sources) {
    if (find(source.name)) throw std::invalid_argument("there are two models named '" + source.name + "'");
    auto fresh = std::make_shared<Entry>(std::move(source));
    fresh->facts = fresh->reader ? fresh->reader->model->facts() : model::read_facts(fresh->source.folder);
    entries_.push_back(std::move(fresh));
  }
}

Models::~Models() = default;

std::shared_ptr<Models::Entry> Models::find(std::string_view name) const {
  const auto found = std::ranges::find_if(entries_, [&](const auto& one) { return one->source.name == name; });
  return found == entries_.end() ? nullptr : *found;
}

bool Models::has(std::string_view name) const {
  const std::scoped_lock lock(mutex_);
  return find(name) != nullptr;
}

std::string Models::add(const std::string& name, const base::Folder& folder) {
  auto fresh = std::make_shared<Entry>(ModelSource{.name = name, .folder = folder, .given = true, .request = name});
  fresh->reader = std::make_shared<const model::Reader>(model::Reader::load(folder));
  fresh->facts = fresh->reader->model->facts();
  const std::scoped_lock lock(mutex_);
  std::erase_if(entries_, [&](const auto& one) { return one->source.folder.name() == folder.name(); });
  for (int number = 2; find(fresh->source.name); ++number)
    fresh->source.name = name + " (" + std::to_string(number) + ")";
  fresh->used = ++uses_;
  entries_.push_back(fresh);
  evict(*fresh);
  return fresh->source.name;
}

std::string Models::name_of(std::string_view model) const {
  const std::scoped_lock lock(mutex_);
  for (const auto& one : entries_)
    if (one->source.folder.name() == model || one->source.request == model || one->source.name == model)
      return one->source.name;
  return {};
}

std::shared_ptr<Models::Entry> Models::entry(std::string_view name) const {
  const std::scoped_lock lock(mutex_);
  if (auto found = find(name)) return found;
  std::string names;
  for (const auto& one : entries_) names += (names.empty() ? "" : ", ") + one->source.name;
  throw std::invalid_argument("there is no model '" + std::string(name) +
                              "' here, only: " + (names.empty() ? "none" : names));
}

std::vector<Models::Card> Models::cards() const {
  const std::scoped_lock lock(mutex_);
  std::vector<Card> cards;
  for (const auto& one : entries_) cards.push_back({one->source.name, one->facts, one->source.given});
  return cards;
}

Models::Card Models::card(std::string_view name) const {
  const auto one = entry(name);
  const std::scoped_lock lock(mutex_);
  return {one->source.name, one->facts, one->source.given};
}

std::shared_ptr<const model::Reader> Models::reader(std::string_view name) { return reader(*entry(name)); }

std::shared_ptr<const model::Reader> Models::reader(Entry& one) {
  const std::scoped_lock alone(one.loading);
  std::unique_lock lock(mutex_);
  one.used = ++uses_;
  if (one.reader) return one.reader;
  lock.unlock();
  auto loaded = std::make_shared<const model::Reader>(model::Reader::load(one.source.folder));
  lock.lock();
  one.facts = loaded->model->facts();
  one.reader = loaded;
  evict(one);
  return loaded;
}

void Models::evict(const Entry& latest) {
  while (true) {
    std::int64_t bytes = 0;
    Entry* oldest = nullptr;
    for (const auto& one : entries_) {
      if (!one->reader) continue;
      bytes += one->facts.bytes;
      if (one.get() != &latest && !one->source.reader && (oldest == nullptr || one->used < oldest->used))
        oldest = one.get();
    }
    if (bytes <= memory_ || oldest == nullptr) return;
    oldest->reader = nullptr;
  }
}

std::shared_ptr<const nn::Matrix> Models::induction(std::string_view name, const base::Progress& mine,
                                                    ThreadPool& pool) {
  const auto one = entry(name);
  one->finding.join(mine, [&](const base::Progress& progress) {
    const auto model = reader(*one);
    one->induction = std::make_shared<const nn::Matrix>(insight::induction_scores(*model, pool, progress));
  });
  return one->induction;
}

}  // namespace attn::server
