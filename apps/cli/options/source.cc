#include "apps/cli/options/source.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <vector>

#include "apps/cli/options/ranks.h"
#include "apps/cli/output/checked.h"
#include "attn/error.h"
#include "insight/io/table_file.h"
#include "model/recording/recording_file.h"
#include "model/run/prepare.h"

namespace attn::cli {

namespace {

std::vector<std::string> words_of(const std::optional<std::string>& text) {
  std::vector<std::string> words;
  std::istringstream in(text.value_or(""));
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

}  // namespace

void SourceOption::add_to(CLI::App& command, Takes takes, const std::string& text_name) {
  model.add_to(command);
  text.add_to(command, "Text to read", text_name);
  command.add_option("--pair", pair, "Second text, for models that read pairs; for an encoder-decoder, its output")
      ->type_name("TEXT");
  command.add_option("--target", target, "Output of an encoder-decoder (default: what the model generates)")
      ->type_name("TEXT")
      ->excludes("--pair");
  if (takes == Takes::models) return;
  command.add_option("--recording", recording, "Recording (attnscope record) to open instead of a model and a text")
      ->type_name("FILE")
      ->excludes("--model");
  if (takes == Takes::recordings) return;
  command.add_option("--table", table, "Table of your own to open instead: .npy, .csv or .json")
      ->type_name("FILE")
      ->excludes("--model")
      ->excludes("--recording");
  command.add_option("--tokens", tokens, "Names of the table's rows, and of its columns if it is square")
      ->type_name("\"A B C\"")
      ->needs("--table");
  command.add_option("--key-tokens", key_tokens, "Names of the table's columns")
      ->type_name("\"A B C\"")
      ->needs("--table");
}

model::Text SourceOption::text_given() const { return {.text = text.read(), .pair = pair, .target = target}; }

model::Text SourceOption::text_given(Ranks& ranks) const {
  if (ranks.size() == 1 || text.file != "-") return on_all(ranks, [&] { return text_given(); });
  const std::string words = on_all(ranks, [&] { return ranks.rank() == 0 ? text.read() : std::string(); });
  return {.text = ranks.gather(words).front(), .pair = pair, .target = target};
}

SourceOption::Opened SourceOption::read(model::Keep keep, ThreadPool& pool) const {
  const model::Text given = text_given();
  Opened opened{model::Reader::load(model.folder()), model::Recording()};
  opened.recording = model::begin_recording(opened.reader, model::prepared(given, opened.reader, pool), keep);
  or_usage([&] { model::check_not_empty(opened.recording); });
  model::finish_recording(opened.reader, opened.recording, pool);
  opened.recording.origin.model = model.chosen();
  note_training_length(opened.reader.model->facts(), std::ssize(opened.recording.tokens));
  return opened;
}

SourceOption::Opened SourceOption::read(model::Keep keep, Ranks& ranks, ThreadPool& pool) const {
  if (ranks.size() == 1) return read(keep, pool);
  model::Text given = text_given(ranks);
  const model::RecordOptions options{.changes = {}, .on_layer = {}, .ranks = &ranks};
  Opened opened = on_all(ranks, [&] {
    Opened loaded{model::Reader::load(model.folder()), model::Recording()};
    const bool translates = loaded.reader.model->facts().form == model::Form::encoder_decoder;
    if (translates && !given.target && !given.pair)
      throw UsageError(
          "several processes need --target: only one process can generate the output of an encoder-decoder");
    given = model::prepared(std::move(given), loaded.reader, pool);
    return loaded;
  });
  on_all(ranks, [&] { opened.recording = model::begin_recording(opened.reader, given, keep, options); });
  on_all(ranks, [&] { or_usage([&] { model::check_not_empty(opened.recording); }); });
  model::finish_recording(opened.reader, opened.recording, pool, options);
  opened.recording.origin.model = model.chosen();
  note_training_length(opened.reader.model->facts(), std::ssize(opened.recording.tokens));
  return opened;
}

std::unique_ptr<insight::AttentionTables> SourceOption::open(model::Keep keep, ThreadPool& pool) const {
  auto tables = open_unchecked(keep, pool);
  if (table || recording) report(checked(*tables, pool));
  return tables;
}

std::string SourceOption::name_of(const insight::AttentionTables& opened) const {
  if (opened.recording() != nullptr) return opened.recording()->origin.short_name();
  return std::filesystem::path(table.value_or("")).stem().string();
}

void SourceOption::report(const insight::CheckResult& result) const {
  if (!result.failure) return;
  if (recording) throw Error(*recording, "is broken: " + to_string(*result.failure));
  if (table) std::fprintf(stderr, "note: %s: %s\n", table->c_str(), to_string(*result.failure).c_str());
}

void SourceOption::check_given() const {
  if ((table || recording) && (text.text || text.file || pair || target))
    throw UsageError("--recording and --table take no text");
  if (!table && !recording && model.name.empty() && (!model.known() || (!text.text && !text.file)))
    throw UsageError(fmt::format("nothing to read: give {}{}, --file or --recording",
                                 model.known() ? "" : "--model and ", text.name));
}

RankedTables SourceOption::open_unchecked(Ranks& ranks, ThreadPool& pool) const {
  if (ranks.size() == 1) return {open_unchecked(model::Keep{}, pool), nullptr};
  on_all(ranks, [&] {
    check_given();
    if (table) throw UsageError("--table works in a single process only");
    if (!recording) static_cast<void>(text_given());
  });
  return RankedTables::of(ranks, on_all(ranks, [&] { return model::load_recording(recording.value(), ranks); }));
}

std::unique_ptr<insight::AttentionTables> SourceOption::open_unchecked(model::Keep keep, ThreadPool& pool) const {
  check_given();
  if (table) {
    insight::TableFile file = insight::read_table(*table);
    if (tokens) file.queries = words_of(tokens), file.keys.clear();
    if (key_tokens) file.keys = words_of(key_tokens);
    return or_usage([&] {
      return std::make_unique<insight::InMemoryTables>(std::move(file.tables), std::move(file.queries),
                                                       std::move(file.keys));
    });
  }
  if (recording) return std::make_unique<insight::RecordedTables>(model::load_recording(*recording));
  return std::make_unique<insight::RecordedTables>(read(keep, pool).recording);
}

std::string word_of(const text::Tokenizer& tokenizer, std::int32_t id) {
  return on_one_line(tokenizer.tokens(std::vector{id})[0].text);
}

void HeadOption::add_to(CLI::App& command, bool with_head) {
  command.add_option("--layer", layer, "Layer number, from 0")->type_name("L");
  if (with_head) command.add_option("--head", head, "Head number, from 0")->type_name("H");
  add_kind_to(command);
}

void HeadOption::add_kind_to(CLI::App& command) {
  command
      .add_option("--kind", kind_name,
                  "Kind of attention: self (within the text); in an encoder-decoder also decoder (within its output) "
                  "or cross (from its output to the text)")
      ->check(CLI::IsMember({"self", "cross", "decoder"}))
      ->capture_default_str();
}

model::Kind HeadOption::kind() const { return model::parse_kind(kind_name).value_or(model::Kind::self); }

std::vector<insight::HeadId> HeadOption::chosen(const insight::AttentionTables& tables) const {
  or_usage([&] { tables.check({kind(), layer.value_or(0), head.value_or(0)}); });
  std::vector<insight::HeadId> heads = tables.heads();
  std::erase_if(heads, [&](const insight::HeadId& name) {
    return name.kind != kind() || (layer && name.layer != *layer) || (head && name.head != *head);
  });
  return heads;
}

insight::HeadId HeadOption::one(const insight::AttentionTables& tables) const {
  const insight::HeadId first = chosen(tables).front();
  const insight::AttentionStack& all = tables.stack(first.kind);
  if (!layer && all.layers > 1) throw UsageError(fmt::format("choose a layer with --layer, 0 to {}", all.layers - 1));
  if (!head && all.heads > 1) throw UsageError(fmt::format("choose a head with --head, 0 to {}", all.heads - 1));
  return first;
}

}  // namespace attn::cli
