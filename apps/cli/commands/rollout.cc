// apps/cli/commands/rollout.cc - attnscope rollout: what tokens are made of after several layers.
#include "insight/paths/rollout.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "apps/cli/command.h"
#include "apps/cli/options/follow_option.h"
#include "apps/cli/output/progress.h"
#include "figure/scene/attention_figures.h"

namespace attn::cli {

namespace {

void run(const FollowOption& options, ThreadPool& pool) {
  const std::unique_ptr<insight::AttentionTables> tables = options.source.open({}, pool);
  Followed found{*tables, options.upper(*tables), {}, "rollout", figure::kRolloutMeasure};
  ProgressLine line;
  const base::Progress progress = [&](std::int64_t done, std::int64_t total) { line.count(done, total, "row"); };
  found.numbers = options.tokens.empty() ? insight::rollout(*tables, found.upper.layer, pool, progress)
                                         : insight::rollout(*tables, found.upper, pool, progress);
  line.clear();
  options.show(found);
}

}  // namespace

void add_rollout(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<FollowOption>();
  CLI::App* command =
      app.add_subcommand("rollout", "Show what tokens are made of after several layers (attention rollout)");
  options->add_to(*command);
  command->footer(
      "Abnar & Zuidema (2020): the product of the layers' tables, each half the mean over heads and half the token\n"
      "itself. With --token texts may have any length; without, the whole table has up to 512 tokens. In an\n"
      "encoder-decoder it covers the encoder only.");
  command->callback([options, &shell] { run(*options, shell.pool()); });
}

}  // namespace attn::cli
