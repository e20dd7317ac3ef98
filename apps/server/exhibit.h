// server/exhibit.h - a specimen that is shown: as tokens or as words, looked over once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "attn/thread_pool.h"
#include "insight/head_types.h"
#include "insight/progress.h"
#include "insight/specimen.h"

namespace attn::server {

using insight::Kind;

inline constexpr std::int64_t kThumbnail = 64;  // cells a side, at most

// What one pass over all heads gives.
struct Survey {
  insight::HeadsReport report;             // without numbers by token
  std::map<Kind, std::string> thumbnails;  // 8 bits a cell, [L H][R][C]
};

// A specimen as it is, or between words.
class Exposure {
 public:
  // `reading`: what it was made from, also where the specimen itself is counted in words; null: a table. It must
  // outlive this.
  Exposure(std::shared_ptr<const insight::Specimen> specimen, const model::Reading* reading)
      : specimen_(std::move(specimen)), reading_(reading) {}

  [[nodiscard]] const insight::Specimen& specimen() const noexcept { return *specimen_; }
  [[nodiscard]] const std::shared_ptr<const insight::Specimen>& shared() const noexcept { return specimen_; }
  [[nodiscard]] const model::Reading* reading() const noexcept { return reading_; }

  // The pass is made when it is first asked for; others wait for it meanwhile. What `progress` throws ends it, and
  // whoever asks next begins again. Throws std::invalid_argument where a number is no weight: not finite, or not from 0
  // to 1.
  [[nodiscard]] const Survey& survey(ThreadPool& pool, const insight::Progress& progress = {}) const;

 private:
  std::shared_ptr<const insight::Specimen> specimen_;
  const model::Reading* reading_;
  mutable std::mutex mutex_;
  mutable std::optional<Survey> survey_;
};

class Exhibit {
 public:
  Exhibit(std::string id, std::string name, const std::shared_ptr<const insight::Specimen>& specimen);

  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::string text() const;                 // that was read; where it is not known, its tokens
  [[nodiscard]] std::optional<std::string> pair() const;  // the second text of a pair
  [[nodiscard]] std::int64_t tokens() const;

  [[nodiscard]] const Exposure& exposure(bool words) const;

 private:
  std::string id_, name_;
  Exposure as_it_is_;
  mutable std::once_flag merged_;
  mutable std::unique_ptr<const Exposure> words_;
};

}  // namespace attn::server
