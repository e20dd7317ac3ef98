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

// --model and --text or --file, --pair, --target; or --recording; or, where tables are taken, --table and --tokens.
struct SourceOption {
  ModelOption model;
  TextOption text;
  std::optional<std::string> pair, target, recording, table, tokens, key_tokens;

  enum class Takes : std::uint8_t { models, recordings, tables };  // each also what comes before it
  // `text_name`: for commands whose text is an argument of its own.
  void add_to(CLI::App& command, Takes takes, const std::string& text_name = "--text,-t");

  // What a file holds is checked (insight/statistics/check.h): all rows of a recording of up to 1e8 weights, a sample
  // of each head's rows of a longer one. A recording that fails is an attn::Error that names layer, head and row; a
  // table whose rows do not sum to 1 only gets a note on standard error. Recordings and tables have been checked, and
  // what was found judged.
  [[nodiscard]] std::unique_ptr<insight::AttentionTables> open(model::Keep keep, ThreadPool& pool) const;
  // For whoever checks everything anyway, and hands the result to judge().
  [[nodiscard]] std::unique_ptr<insight::AttentionTables> open_unchecked(model::Keep keep, ThreadPool& pool) const;
  // Likewise, of a recording or a table; each of several processes has its part of a recording. All must call it.
  [[nodiscard]] RankedTables open_unchecked(Ranks& ranks, ThreadPool& pool) const;
  // A recording that fails is an error; of a table that fails there is a line on standard error.
  void judge(const insight::CheckResult& result) const;

  // For commands that run the model again. Throws UsageError where there is none.
  struct Opened {
    model::Reader reader;
    model::Recording recording;
  };
  [[nodiscard]] Opened read(model::Keep keep, ThreadPool& pool) const;
  // The same by several processes, each of which gets its part (model::RecordOptions::ranks). All must call it.
  [[nodiscard]] Opened read(model::Keep keep, Ranks& ranks, ThreadPool& pool) const;

  // What was opened is called: as its model, or the table's file.
  [[nodiscard]] std::string name_of(const insight::AttentionTables& opened) const;

  [[nodiscard]] model::Text text_given() const;  // throws as TextOption::read() does

 private:
  void check_given() const;  // throws UsageError
  // Standard input is that of rank 0.
  [[nodiscard]] model::Text text_given(Ranks& ranks) const;
};

// What an id says, on one line.
std::string word_of(const text::Tokenizer& tokenizer, std::int32_t id);

// --layer, --head, --kind.
struct HeadOption {
  std::optional<std::int64_t> layer, head;
  std::string kind_name = "self";

  void add_to(CLI::App& command, bool with_head = true);
  void add_kind_to(CLI::App& command);  // --kind alone
  [[nodiscard]] model::Kind kind() const;
  // All that are meant: of every layer or every head where none is named. Throws UsageError that says which there are.
  [[nodiscard]] std::vector<insight::HeadId> chosen(const insight::AttentionTables& tables) const;
  // Throws UsageError that names the missing option or the layers and heads that there are.
  [[nodiscard]] insight::HeadId one(const insight::AttentionTables& tables) const;
};

}  // namespace attn::cli
