#include "server/store/comparisons.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "insight/tables/difference.h"
#include "server/http/request.h"

namespace attn::server {

namespace {

std::shared_ptr<const Compared> compared(const Pair& pair, std::string key, ThreadPool& pool,
                                         const insight::Progress& progress) {
  auto made = std::make_shared<Compared>();
  made->exhibit_a = pair.a;
  made->exhibit_b = pair.b;
  made->a = pair.a->exposure(pair.words).shared();
  made->b = pair.b->exposure(pair.words).shared();
  made->key = std::move(key);
  try {
    made->found = insight::compare(*made->a, *made->b, pool, progress);
  } catch (const std::invalid_argument& wrong) {
    throw Refused(409, wrong.what());
  }
  made->aligned = insight::difference(*made->a, *made->b, made->found);
  made->on_a = insight::difference_on_a(*made->a, *made->b, made->found);
  return made;
}

}  // namespace

std::shared_ptr<const Compared> Comparisons::get(const Pair& pair, ThreadPool& pool,
                                                 const insight::Progress& progress) {
  const std::string key = "compare/" + pair.a->id() + "/" + pair.b->id() + (pair.words ? "/words" : "");
  const std::shared_ptr<Entry> found = entry(key);
  found->making.join(progress, [&](const insight::Progress& all) { found->made = compared(pair, key, pool, all); });
  return found->made;
}

std::shared_ptr<Comparisons::Entry> Comparisons::entry(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  const auto known = std::ranges::find(entries_, key, [](const auto& one) -> const std::string& { return one->key; });
  if (known != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, known);
  } else {
    entries_.push_front(std::make_shared<Entry>());
    entries_.front()->key = key;
    if (entries_.size() > kMost) entries_.pop_back();  // who waits for it keeps it
  }
  return entries_.front();
}

void Comparisons::forget(std::string_view exhibit) {
  const std::scoped_lock lock(mutex_);
  const std::string inside = "/" + std::string(exhibit) + "/";
  std::erase_if(entries_, [&](const auto& one) { return (one->key + "/").find(inside) != std::string::npos; });
}

}  // namespace attn::server
