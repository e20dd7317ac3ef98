// apps/cli/commands/classify.h - options of attnscope classify, shared by classify.cc and classify_data.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "apps/cli/command.h"
#include "apps/cli/options/source.h"
#include "model/recording/recording.h"

namespace attn::cli {

struct ClassifyCommand {
  ModelOption model{.name = {}, .otherwise = "imdb-sentiment"};
  TextOption text;
  std::optional<std::string> pair, data, text_column, label_column;
  std::optional<double> held_out;
  HeadOption head;
  std::int64_t top = 10, limit = 0;
  bool labelled = false, json = false;

  void run(ThreadPool& pool) const;

 private:
  void run_text(const model::Reader& reader, ThreadPool& pool) const;
  void run_data(const std::string& file, const model::Reader& reader, ThreadPool& pool) const;  // classify_data.cc
};

}  // namespace attn::cli
