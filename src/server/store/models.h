// server/store/models.h - the models that the page may use: those of the start and those that the user adds, each
// loaded on first use.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/thread_pool.h"
#include "base/folder.h"
#include "base/progress.h"
#include "model/recording/recording.h"
#include "server/jobs/shared_task.h"

namespace attn::server {

struct ModelSource {
  std::string name;  // in requests
  base::Folder folder;
  bool given = false;                                     // by the user; false: built in
  std::string request = {};                               // the user's name for it
  std::shared_ptr<const model::Reader> reader = nullptr;  // if loaded already; it is then never unloaded
};

// Builds the list of models.
class ModelList {
 public:
  // Returns the model's name on the page: without leading folders, unless that name is taken. Adds a folder only once.
  std::string add(const std::string& name, const base::Folder& folder, bool given);
  [[nodiscard]] std::vector<ModelSource> take() { return std::move(sources_); }

 private:
  std::vector<ModelSource> sources_;
};

// Names in requests are only looked up here: no path from a request reaches the file system. Thread-safe.
class Models {
 public:
  // Reads the configuration of each model. Loaded weights take at most `memory` bytes together, except that the latest
  // model always stays; the least recently used are unloaded. Throws attn::Error for bad files, std::invalid_argument
  // for a duplicate name.
  Models(std::vector<ModelSource> sources, std::int64_t memory);
  ~Models();

  struct Card {
    std::string name;
    model::Facts facts;  // until the weights are loaded, only what is known without them
    bool given = false;
  };
  [[nodiscard]] std::vector<Card> cards() const;
  [[nodiscard]] bool has(std::string_view name) const;
  // Adds a model that the user gives, and loads it; returns its name: this one, or "NAME (2)" if it is taken by another
  // folder. The same folder again is loaded anew. Throws attn::Error for bad files, which leave the list as it was.
  std::string add(const std::string& name, const base::Folder& folder);
  // The name of the model that a recording calls `model`; empty if it is not in the list.
  [[nodiscard]] std::string name_of(std::string_view model) const;

  // These throw std::invalid_argument, listing the models, for an unknown name.
  [[nodiscard]] Card card(std::string_view name) const;
  [[nodiscard]] std::shared_ptr<const model::Reader> reader(std::string_view name);
  // insight::induction_scores(): a property of the model, computed on first use.
  [[nodiscard]] std::shared_ptr<const nn::Matrix> induction(std::string_view name, const base::Progress& mine,
                                                            ThreadPool& pool);

 private:
  struct Entry;
  [[nodiscard]] std::shared_ptr<Entry> find(std::string_view name) const;  // requires the mutex; null: none
  [[nodiscard]] std::shared_ptr<Entry> entry(std::string_view name) const;
  [[nodiscard]] std::shared_ptr<const model::Reader> reader(Entry& one);
  void evict(const Entry& latest);

  std::vector<std::shared_ptr<Entry>> entries_;
  std::int64_t memory_;
  mutable std::mutex mutex_;  // guards entries_, uses_ and the loaded readers
  std::uint64_t uses_ = 0;
};

}  // namespace attn::server
