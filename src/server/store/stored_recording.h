// server/store/stored_recording.h - a specimen that is shown: as tokens or as words, looked over once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "attn/thread_pool.h"
#include "base/progress.h"
#include "insight/statistics/head_types.h"
#include "insight/tables/attention_tables.h"
#include "insight/tables/view_options.h"
#include "server/jobs/record_request.h"
#include "server/jobs/shared_task.h"

namespace attn::server {

using insight::Kind;

inline constexpr std::int64_t kThumbnail = 64;  // cells a side, at most

// What one pass over all heads gives.
struct HeadSummary {
  insight::HeadsReport report;             // without numbers by token
  std::map<Kind, std::string> thumbnails;  // 8 bits a cell, [L H][R][C]
};

// Finds a model's induction scores (insight/statistics/induction.h). Empty: nobody knows them but the reading.
using InductionOf = std::function<std::shared_ptr<const nn::Matrix>(const base::Progress& progress, ThreadPool& pool)>;

// A specimen as it is, or between words.
class StoredTables {
 public:
  // `reading`: what it was made from, also where the specimen itself is counted in words; null: a table. It must
  // outlive this.
  StoredTables(std::shared_ptr<const insight::AttentionTables> tables, const model::Recording* recording,
               InductionOf induction)
      : tables_(std::move(tables)), recording_(recording), induction_(std::move(induction)) {}

  [[nodiscard]] const insight::AttentionTables& tables() const noexcept { return *tables_; }
  [[nodiscard]] const std::shared_ptr<const insight::AttentionTables>& shared() const noexcept { return tables_; }
  [[nodiscard]] const model::Recording* recording() const noexcept { return recording_; }

  // The pass is made when it is first asked for; others wait for it meanwhile, as SharedTask::join() has it. Throws
  // std::invalid_argument where a number is no weight: not finite, or not from 0 to 1.
  [[nodiscard]] const HeadSummary& summary(ThreadPool& pool, const base::Progress& progress = {}) const;

 private:
  std::shared_ptr<const insight::AttentionTables> tables_;
  const model::Recording* recording_;
  InductionOf induction_;
  mutable SharedTask summarising_;
  mutable std::unique_ptr<const HeadSummary> summary_;
};

// Where an exhibit comes from, as far as this server could make it again.
struct Provenance {
  std::string model = {};                                      // its name among the server's; empty: it is not there
  model::Facts facts = {};                                     // of this model
  std::optional<RecordRequest> record_request = std::nullopt;  // that makes the same
  std::optional<Generated> generated = std::nullopt;           // what the model went on with, or answered
  InductionOf induction = {};
  bool stays = true;  // it is never let go
};

class StoredRecording {
 public:
  StoredRecording(std::string id, std::string name, const std::shared_ptr<const insight::AttentionTables>& tables,
                  Provenance provenance = {});

  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::string text() const;                 // that was read; where it is not known, its tokens
  [[nodiscard]] std::optional<std::string> pair() const;  // the second text of a pair
  [[nodiscard]] std::int64_t tokens() const;
  [[nodiscard]] const Provenance& provenance() const noexcept { return provenance_; }
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }  // that its numbers take in memory

  [[nodiscard]] const StoredTables& stored_tables(bool words) const;
  // The tables as insight::view() shows them, made on first use and kept. Not for Measure::rollout. Throws
  // std::invalid_argument where the recording has no value norms.
  [[nodiscard]] std::shared_ptr<const insight::AttentionTables> viewed(const insight::ViewOptions& view) const;

 private:
  std::string id_, name_;
  Provenance provenance_;
  std::int64_t bytes_ = 0;
  StoredTables as_it_is_;
  mutable std::once_flag merged_;
  mutable std::unique_ptr<const StoredTables> words_;
  mutable std::mutex viewing_;
  mutable std::map<std::string, std::shared_ptr<const insight::AttentionTables>> viewed_;  // by ViewOptions::key()
};

}  // namespace attn::server
