// apps/cli/options/source.h - where a command's attention comes from: a model and a text, a recording, or the user's
// own table.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/command.h"
#include "apps/cli/output/checked.h"
#include "insight/statistics/check.h"
#include "insight/tables/attention_tables.h"
#include "model/recording/recording.h"

namespace attn::cli {

// --model and --text or --file, --pair, --target; or --recording; or --table and --tokens.
struct SourceOption {
  ModelOption model;
  TextOption text;
  std::optional<std::string> pair, target, recording, table, tokens, key_tokens;

  enum class Takes : std::uint8_t { models, recordings, tables };  // each includes those before it
  // `text_name`: "TEXT,--text,-t" for commands that take the text as a positional argument.
  void add_to(CLI::App& command, Takes takes, const std::string& text_name = "--text,-t");

  // Opens the source and checks what a file holds (insight/statistics/check.h): all rows of a recording of up to 1e8
  // weights, a sample of each head's rows of a longer one. Throws attn::Error with layer, head and row if a recording
  // fails; a table whose rows do not sum to 1 only gets a note on standard error.
  [[nodiscard]] std::unique_ptr<insight::AttentionTables> open(model::Keep keep, ThreadPool& pool) const;
  // Opens without the check, for callers that check by themselves and pass the result to report().
  [[nodiscard]] std::unique_ptr<insight::AttentionTables> open_unchecked(model::Keep keep, ThreadPool& pool) const;
  // The same for several processes: each rank gets its part of the recording. All ranks must call it.
  [[nodiscard]] RankedTables open_unchecked(Ranks& ranks, ThreadPool& pool) const;
  // Throws attn::Error for a recording that failed the check; prints a note for a table that did.
  void report(const insight::CheckResult& result) const;

  // For commands that run the model again. Throws UsageError if there is no model.
  struct Opened {
    model::Reader reader;
    model::Recording recording;
  };
  [[nodiscard]] Opened read(model::Keep keep, ThreadPool& pool) const;
  // The same for several processes: each rank gets its part (model::RecordOptions::ranks). All ranks must call it.
  [[nodiscard]] Opened read(model::Keep keep, Ranks& ranks, ThreadPool& pool) const;

  // Name of what was opened: its model's, or that of the table's file without the extension.
  [[nodiscard]] std::string name_of(const insight::AttentionTables& opened) const;

  [[nodiscard]] model::Text text_given() const;  // throws as TextOption::read() does

 private:
  void check_given() const;  // throws UsageError
  // Rank 0 reads standard input for all.
  [[nodiscard]] model::Text text_given(Ranks& ranks) const;
};

// Text of a token, on one line.
std::string word_of(const text::Tokenizer& tokenizer, std::int32_t id);

// --layer, --head, --kind.
struct HeadOption {
  std::optional<std::int64_t> layer, head;
  std::string kind_name = "self";

  void add_to(CLI::App& command, bool with_head = true);
  void add_kind_to(CLI::App& command);  // --kind alone
  [[nodiscard]] model::Kind kind() const;
  // All heads that match; without --layer or --head, those of every layer or every number. Throws UsageError with the
  // valid range.
  [[nodiscard]] std::vector<insight::HeadId> chosen(const insight::AttentionTables& tables) const;
  // The one head that is meant. Throws UsageError that names the missing option or the valid range.
  [[nodiscard]] insight::HeadId one(const insight::AttentionTables& tables) const;
};

}  // namespace attn::cli
