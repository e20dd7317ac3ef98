#include "server/store/recording_store.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "server/http/request.h"

namespace attn::server {

namespace {

std::string megabytes(std::int64_t bytes) { return std::to_string((bytes + (1 << 20) - 1) >> 20) + " MB"; }

}  // namespace

RecordingStore::RecordingStore(PoolOf pool, std::int64_t cache_bytes, StoreOptions store)
    : pool_(std::move(pool)),
      cache_(cache_bytes),
      models_(std::move(store.models), store.memory),
      memory_(store.memory),
      named_(store.first_id - 1) {}

RecordingStore::Turn::Turn(RecordingStore& store) : working_(store.working_) {
  if (++working_ <= kMostWork) return;
  --working_;
  throw HttpError(429, "too much work at once: at most " + std::to_string(kMostWork) + " tasks");
}

RecordingStore::Turn::~Turn() { --working_; }

std::string RecordingStore::add(std::string name, const std::shared_ptr<const insight::AttentionTables>& tables,
                                const base::Progress& progress, std::string id) {
  std::unique_lock lock(mutex_);
  const bool stays = id.empty();
  if (stays) id = std::to_string(++named_);
  lock.unlock();
  Provenance from = provenance(*tables);
  from.stays = stays;
  auto stored = std::make_shared<const StoredRecording>(id, std::move(name), tables, std::move(from));
  // A model's softmax always gives weights, so the page opens before the summary of a long text, which may take
  // minutes. Other tables are in memory: checking them is quick.
  if (dynamic_cast<const insight::RecordedTables*>(tables.get()) == nullptr)
    static_cast<void>(stored->stored_tables(false).summary(*pool(), progress));
  lock.lock();
  const std::optional<RecordRequest>& record_request = stored->provenance().record_request;
  const std::string key = record_request ? record_request->key() : "";
  std::erase_if(entries_, [&](const StoredEntry& one) { return one.stored->id() == id; });
  return put(std::move(stored), key);
}

std::string RecordingStore::put(std::shared_ptr<const StoredRecording> stored, std::string key) {
  std::string id = stored->id();
  entries_.push_back({std::move(stored), std::move(key), ++uses_});
  evict(id);
  return id;
}

// Evicts the least recently used recordings, except those that stay and the newest.
void RecordingStore::evict(const std::string& newest) {
  while (true) {
    std::int64_t bytes = reserved_, recorded = 0;
    auto oldest = entries_.end();
    for (auto one = entries_.begin(); one != entries_.end(); ++one) {
      bytes += one->stored->bytes();
      if (one->stored->provenance().stays) continue;
      ++recorded;
      if (one->stored->id() != newest && (oldest == entries_.end() || one->used < oldest->used)) oldest = one;
    }
    if (oldest == entries_.end() || (bytes <= memory_ && recorded <= kMostMade)) return;
    comparisons_.forget(oldest->stored->id());
    entries_.erase(oldest);
  }
}

std::shared_ptr<const StoredRecording> RecordingStore::find(std::string_view id) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find_if(entries_, [&](const StoredEntry& one) { return one.stored->id() == id; });
  if (found == entries_.end()) throw HttpError(404, "there is no recording '" + std::string(id) + "'");
  found->used = ++uses_;
  return found->stored;
}

std::vector<std::shared_ptr<const StoredRecording>> RecordingStore::recordings() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<const StoredRecording>> all;
  for (const StoredEntry& one : entries_) all.push_back(one.stored);
  return all;
}

std::int64_t RecordingStore::kept_bytes() const {
  std::int64_t bytes = 0;
  for (const auto& one : recordings()) bytes += one->bytes();
  return bytes;
}

// ---- by models ----

std::shared_ptr<const model::Reader> RecordingStore::reader_of(const StoredRecording& stored) {
  const std::string& name = stored.provenance().model;
  if (name.empty()) throw HttpError(409, "the model of this recording is not available: it can only be viewed");
  return models_.reader(name);
}

void RecordingStore::name_model(Provenance& from, const std::string& name) {
  from.model = name;
  from.facts = models_.card(name).facts;
  from.induction = [this, name](const base::Progress& progress, ThreadPool& pool) {
    return models_.induction(name, progress, pool);
  };
}

// The provenance of tables that this server did not make: given by the program that started it, or read from a file.
Provenance RecordingStore::provenance(const insight::AttentionTables& tables) {
  Provenance from;
  if (tables.recording() == nullptr) return from;
  const model::Recording& recording = *tables.recording();
  const std::string name = models_.name_of(recording.origin.model);
  if (name.empty()) return from;
  const model::Facts facts = models_.card(name).facts;
  const insight::AttentionStack& all = tables.stacks().front();
  if (facts.type != recording.origin.type || facts.layers != all.layers || facts.heads.heads != all.heads) return from;
  name_model(from, name);
  const model::Text& text = recording.origin.text;
  // Generated tokens have no span in the text.
  const bool all_read = std::ranges::all_of(
      recording.tokens, [](const text::Token& token) { return token.special || token.span.to > 0; });
  if (!all_read || text.cut || text.text.empty()) return from;
  from.record_request = RecordRequest{.model = name, .text = text.text, .pair = text.pair, .target = text.target};
  if (!recording.changes.also.everything()) from.record_request->mask = recording.changes.also.text();
  for (const model::HeadOff& off : recording.changes.off)
    from.record_request->off.push_back({off.kind, off.layer, off.head});
  return from;
}

std::string RecordingStore::found(const std::string& key) {
  const auto there = std::ranges::find_if(entries_, [&](const StoredEntry& one) { return one.key == key; });
  if (there == entries_.end()) return {};
  there->used = ++uses_;
  return there->stored->id();
}

std::string RecordingStore::make(const Order& order) {
  const std::string key = order.record_request.key();
  std::shared_ptr<RunningTask> task;
  {
    const std::scoped_lock lock(mutex_);
    if (std::string id = found(key); !id.empty()) return id;
    std::shared_ptr<RunningTask>& place = running_[key];
    if (!place) place = std::make_shared<RunningTask>();
    task = place;
  }
  std::size_t reported = 0;
  const auto mine = [&](std::int64_t done, std::int64_t total) {
    base::tell(order.progress, done, total);
    const std::scoped_lock lock(task->mutex);
    for (; order.tell && reported < task->steps.size(); ++reported)
      order.tell(static_cast<std::int64_t>(reported), task->steps[reported]);
  };
  task->task.join(mine, [&](const base::Progress& progress) { work(*task, order, key, progress); });
  return task->id;
}

// A caller that comes after it has ended finds the recording, or starts again.
void RecordingStore::work(RunningTask& task, const Order& order, const std::string& key,
                          const base::Progress& progress) {
  const auto end = [&] {
    const std::scoped_lock lock(mutex_);
    reserved_ -= std::exchange(task.reserved, 0);
    if (const auto place = running_.find(key); place != running_.end() && place->second.get() == &task)
      running_.erase(place);
  };
  try {
    const Turn turn(*this);
    task.steps.clear();
    const auto reader = models_.reader(order.record_request.model);
    const auto pool = pool_();
    const RecordContext context{.reader = *reader,
                                .pool = *pool,
                                .reserve = [&](std::int64_t bytes) { reserve(task, bytes); },
                                .progress = progress,
                                .on_step =
                                    [&](GeneratedStep step) {
                                      const std::scoped_lock lock(task.mutex);
                                      task.steps.push_back(std::move(step));
                                    }};
    Recorded recorded = server::make(order.record_request, context);
    Provenance from;
    name_model(from, order.record_request.model);
    from.record_request = order.record_request;
    from.generated = std::move(recorded.generated);
    from.stays = order.stays;
    const std::scoped_lock lock(mutex_);
    reserved_ -= std::exchange(task.reserved, 0);
    task.id = std::to_string(++named_);
    put(std::make_shared<const StoredRecording>(task.id, order.record_request.model, recorded.tables, std::move(from)),
        key);
  } catch (...) {
    end();
    throw;
  }
  end();
}

void RecordingStore::reserve(RunningTask& task, std::int64_t bytes) {
  if (bytes > memory_)
    throw HttpError(413, "the recording of this text would take " + megabytes(bytes) + "; all together may take " +
                             megabytes(memory_));
  const std::scoped_lock lock(mutex_);
  reserved_ -= std::exchange(task.reserved, 0);
  if (reserved_ + bytes > memory_)
    throw HttpError(429, "too much work at once: other texts that are being recorded take the memory");
  reserved_ += task.reserved = bytes;
  evict("");
}

}  // namespace attn::server
