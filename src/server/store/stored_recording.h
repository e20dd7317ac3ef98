// server/store/stored_recording.h - a recording that the server holds, between tokens or words, with its summary.
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

inline constexpr std::int64_t kThumbnail = 64;  // cells per side, at most

// The result of one pass over all heads.
struct HeadSummary {
  insight::HeadsReport report;             // without numbers per token
  std::map<Kind, std::string> thumbnails;  // 8 bits per cell, [L H][R][C]
};

// Computes a model's induction scores (insight/statistics/induction.h). Empty: only the recording may hold them.
using InductionOf = std::function<std::shared_ptr<const nn::Matrix>(const base::Progress& progress, ThreadPool& pool)>;

// The tables of a recording, between tokens or words.
class StoredTables {
 public:
  // `recording`: the recording behind the tables, also for tables between words; null for a table from a file. It must
  // outlive this.
  StoredTables(std::shared_ptr<const insight::AttentionTables> tables, const model::Recording* recording,
               InductionOf induction)
      : tables_(std::move(tables)), recording_(recording), induction_(std::move(induction)) {}

  [[nodiscard]] const insight::AttentionTables& tables() const noexcept { return *tables_; }
  [[nodiscard]] const std::shared_ptr<const insight::AttentionTables>& shared() const noexcept { return tables_; }
  [[nodiscard]] const model::Recording* recording() const noexcept { return recording_; }

  // Computed by the first caller; others wait, see SharedTask::join(). Throws std::invalid_argument if a number is not
  // a weight: not finite, or outside [0, 1].
  [[nodiscard]] const HeadSummary& summary(ThreadPool& pool, const base::Progress& progress = {}) const;

 private:
  std::shared_ptr<const insight::AttentionTables> tables_;
  const model::Recording* recording_;
  InductionOf induction_;
  mutable SharedTask summarising_;
  mutable std::unique_ptr<const HeadSummary> summary_;
};

// Where a recording comes from, as far as this server can make it again.
struct Provenance {
  std::string model = {};                                      // its name on this server; empty: not available
  model::Facts facts = {};                                     // of this model
  std::optional<RecordRequest> record_request = std::nullopt;  // that makes the same recording
  std::optional<Generated> generated = std::nullopt;           // what the model generated
  InductionOf induction = {};
  bool stays = true;  // never evicted
};

class StoredRecording {
 public:
  StoredRecording(std::string id, std::string name, const std::shared_ptr<const insight::AttentionTables>& tables,
                  Provenance provenance = {});

  [[nodiscard]] const std::string& id() const noexcept { return id_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::string text() const;                 // the model's input; if unknown, its tokens
  [[nodiscard]] std::optional<std::string> pair() const;  // the second text of a pair
  [[nodiscard]] std::int64_t tokens() const;
  [[nodiscard]] const Provenance& provenance() const noexcept { return provenance_; }
  [[nodiscard]] std::int64_t bytes() const noexcept { return bytes_; }  // of its numbers in memory

  [[nodiscard]] const StoredTables& stored_tables(bool words) const;
  // The tables as insight::view() shows them, made on first use and kept. Not for Measure::rollout. Throws
  // std::invalid_argument if the recording lacks the value norms that the measure needs.
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
