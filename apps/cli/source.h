// cli/source.h - where a command's attention comes from: a model and a text, a recording, or the user's own table.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "command.h"
#include "insight/specimen.h"
#include "model/reading.h"

namespace attn::cli {

// --model and --text or --file, --pair, --target; or --recording; or, where tables are taken, --table and --tokens.
struct SourceOption {
  ModelOption model;
  TextOption text;
  std::optional<std::string> pair, target, recording, table, tokens, key_tokens;

  enum class Takes : std::uint8_t { recordings, tables };
  // `text_name`: for commands whose text is an argument of its own.
  void add_to(CLI::App& command, Takes takes, const std::string& text_name = "--text,-t");

  [[nodiscard]] std::unique_ptr<insight::Specimen> open(model::Keep keep, ThreadPool& pool) const;

  // For commands that run the model again. Throws UsageError where there is none.
  struct Opened {
    model::Reader reader;
    model::Reading reading;
  };
  [[nodiscard]] Opened read(model::Keep keep, ThreadPool& pool) const;

  // What the model is given: in an encoder-decoder, also what it says where no target is given.
  [[nodiscard]] model::Text text_for(const model::Reader& reader, ThreadPool& pool) const;
};

// --layer, --head, --kind.
struct HeadOption {
  std::optional<std::int64_t> layer, head;
  std::string kind_name = "self";

  void add_to(CLI::App& command, bool with_head = true);
  [[nodiscard]] model::Kind kind() const;
  // Throws UsageError that names the missing option or the layers and heads that there are.
  [[nodiscard]] insight::HeadName one(const insight::Specimen& specimen) const;
};

}  // namespace attn::cli
