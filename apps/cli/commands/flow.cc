// apps/cli/commands/flow.cc - attnscope flow: how much of each token of the text can reach a token above.
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
      throw UsageError("name a token with --token, or ask for the whole table with --all, which takes longer");
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
  CLI::App* command = app.add_subcommand("flow", "How much of the text can reach a token (attention flow)");
  options->follow.add_to(*command);
  command->add_flag("--all", options->all, "All tokens: the whole table")->excludes("--token");
  command->footer(
      "Abnar & Zuidema (2020): the largest flow from a token above the last layer to each token of the text, through\n"
      "edges as wide as the layers' tables say, each half the mean over heads and half the token itself. Up to 512\n"
      "tokens. Of an encoder-decoder its encoder is followed; tokens of the decoder are not. JSON also has the flows\n"
      "divided by their sum, as the authors' program gives them.");
  command->callback([options, &shell] { options->run(shell.pool()); });
}

}  // namespace attn::cli
