// apps/cli/commands/flow.cc - attnscope flow: how much of each token of the text can reach a token above (max flow).
#include "insight/paths/flow.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "apps/cli/command.h"
#include "apps/cli/options/follow_option.h"
#include "apps/cli/output/progress.h"

namespace attn::cli {

namespace {

struct FlowCommand {
  FollowOption follow;
  bool all = false;

  void run(ThreadPool& pool) const {
    if (follow.tokens.empty() && !all)
      throw UsageError("choose a token with --token, or compute the whole table with --all (slower)");
    const std::unique_ptr<insight::AttentionTables> tables = follow.source.open({}, pool);
    Followed found{*tables, follow.upper(*tables), {}, "flow", "Largest flow", false};
    ProgressLine line;
    found.numbers = insight::flow(*tables, found.upper, pool,
                                  [&](std::int64_t done, std::int64_t total) { line.count(done, total, "flow"); });
    line.clear();
    follow.show(found);
  }
};

}  // namespace

void add_flow(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<FlowCommand>();
  CLI::App* command =
      app.add_subcommand("flow", "Show how much of each token can reach a token above (attention flow)");
  options->follow.add_to(*command);
  command->add_flag("--all", options->all, "Compute the whole table: all tokens")->excludes("--token");
  command->footer(
      "Abnar & Zuidema (2020): the largest flow from a token above the last layer to each token of the text, through\n"
      "edges whose capacities are the layers' weights, each half the mean over heads and half the token itself. Up to\n"
      "512 tokens. In an encoder-decoder it covers the encoder only. JSON also has the flows divided by their sum, as\n"
      "in the authors' program.");
  command->callback([options, &shell] { options->run(shell.pool()); });
}

}  // namespace attn::cli
