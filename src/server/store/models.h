// server/store/models.h - the models that a page may use: a list that was made at the start; loaded when first used.
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
  std::string name;  // as requests call it
  base::Folder folder;
  bool given = false;                                     // by the user, not built in
  std::string request = {};                               // as the user called it
  std::shared_ptr<const model::Reader> reader = nullptr;  // loaded already; such a one is never let go
};

// A list in the making.
class ModelList {
 public:
  // Its name on the page: without the folders in front, unless another one is called so. The same folder only once.
  std::string add(const std::string& name, const base::Folder& folder, bool given);
  [[nodiscard]] std::vector<ModelSource> take() { return std::move(sources_); }

 private:
  std::vector<ModelSource> sources_;
};

// A name in a request is only ever looked up here: nothing from a request reaches the file system. Any number of
// threads may use one.
class Models {
 public:
  // Reads what each is. Weights that were loaded take at most `memory` together, but for the latest: those that nobody
  // asked for longest are let go. Throws attn::Error for files that are not right, std::invalid_argument for a name
  // that comes twice.
  Models(std::vector<ModelSource> sources, std::int64_t memory);
  ~Models();

  struct Card {
    std::string name;
    model::Facts facts;  // as far as they are known without the weights, until those are loaded
    bool given = false;
  };
  [[nodiscard]] std::vector<Card> cards() const;
  [[nodiscard]] bool has(std::string_view name) const;
  // The name here of what a recording calls its model; empty: it is none of these.
  [[nodiscard]] std::string name_of(std::string_view model) const;

  // These throw std::invalid_argument that says which models there are.
  [[nodiscard]] Card card(std::string_view name) const;
  [[nodiscard]] std::shared_ptr<const model::Reader> reader(std::string_view name);
  // insight::induction_scores(): a property of the model, found when somebody first asks for it.
  [[nodiscard]] std::shared_ptr<const nn::Matrix> induction(std::string_view name, const base::Progress& mine,
                                                            ThreadPool& pool);

 private:
  struct Entry;
  [[nodiscard]] Entry& entry(std::string_view name) const;
  void let_go(const Entry& latest);

  std::vector<std::unique_ptr<Entry>> entries_;
  std::int64_t memory_;
  mutable std::mutex mutex_;  // of uses and of what is loaded
  std::uint64_t uses_ = 0;
};

}  // namespace attn::server
