#include "server/store/comparisons.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "insight/tables/difference.h"
#include "server/http/request.h"

namespace attn::server {

namespace {

std::shared_ptr<const Compared> compared(const Pair& pair, std::string key, ThreadPool& pool,
                                         const base::Progress& progress) {
  auto recorded = std::make_shared<Compared>();
  recorded->stored_a = pair.a;
  recorded->stored_b = pair.b;
  recorded->a = pair.a->stored_tables(pair.words).shared();
  recorded->b = pair.b->stored_tables(pair.words).shared();
  recorded->key = std::move(key);
  try {
    recorded->found = insight::compare(*recorded->a, *recorded->b, pool, progress);
  } catch (const std::invalid_argument& wrong) {
    throw HttpError(409, wrong.what());
  }
  recorded->aligned = insight::difference(*recorded->a, *recorded->b, recorded->found);
  recorded->on_a = insight::difference_on_a(*recorded->a, *recorded->b, recorded->found);
  return recorded;
}

}  // namespace

std::shared_ptr<const Compared> Comparisons::get(const Pair& pair, ThreadPool& pool, const base::Progress& progress) {
  const std::string key = "compare/" + pair.a->id() + "/" + pair.b->id() + (pair.words ? "/words" : "");
  const std::shared_ptr<Entry> found = entry(key);
  found->task.join(progress, [&](const base::Progress& all) { found->recorded = compared(pair, key, pool, all); });
  return found->recorded;
}

std::shared_ptr<Comparisons::Entry> Comparisons::entry(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  const auto known = std::ranges::find(entries_, key, [](const auto& one) -> const std::string& { return one->key; });
  if (known != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, known);
  } else {
    entries_.push_front(std::make_shared<Entry>());
    entries_.front()->key = key;
    if (entries_.size() > kMost) entries_.pop_back();  // callers that wait for it share ownership
  }
  return entries_.front();
}

void Comparisons::forget(std::string_view stored) {
  const std::scoped_lock lock(mutex_);
  const std::string inside = "/" + std::string(stored) + "/";
  std::erase_if(entries_, [&](const auto& one) { return (one->key + "/").find(inside) != std::string::npos; });
}

}  // namespace attn::server
