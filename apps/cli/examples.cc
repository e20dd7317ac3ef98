// apps/cli/examples.cc - the examples at the end of each command's --help. Each line runs as it stands, in any folder
// and with the built-in models; tests/program/test_help.py runs them.
#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "apps/cli/command.h"

namespace attn::cli {

namespace {

using ExampleLines = std::vector<std::string_view>;

// By command; "train lm" is a subcommand of train. Lines of one command run one after the other.
const std::map<std::string, ExampleLines>& examples_by_command() {
  static const std::map<std::string, ExampleLines> all = {
      {"tour", {"attnscope tour"}},
      {"view",
       {R"(attnscope view --text "The cat sat on the mat.")",
        R"(attnscope view --text "The cat sat on the mat." --output cat.html)"}},
      {"tokenize",
       {R"(attnscope tokenize --text "The cat sat on the mat.")",
        R"(attnscope tokenize --model tiny-gpt --text "The cat sat on the mat." --json)"}},
      {"weights",
       {R"(attnscope weights --text "The cat sat on the mat." --layer 1 --head 0)",
        R"(attnscope weights --text "The cat sat on the mat." --npy weights.npy)"}},
      {"analyze",
       {R"(attnscope analyze --text "The animal was tired, so it did not cross.")",
        R"(attnscope analyze --text "The cat sat on the mat." --output entropy.png)"}},
      {"find",
       {R"(attnscope find previous --text "The cat sat on the mat.")",
        R"x(attnscope find "causal & window(2)" --text "The cat sat on the mat.")x"}},
      {"record",
       {R"(attnscope record --text "The cat sat on the mat." --output cat.attn)",
        "attnscope heatmap --recording cat.attn --layer 1 --head 0"}},
      {"fill",
       {R"(attnscope fill --text "The movie was [MASK].")",
        R"(attnscope fill --text "The [MASK] was very [MASK]." --top 3)"}},
      {"classify",
       {R"(attnscope classify --text "The plot was dull, but the cast was great.")",
        R"(attnscope classify --text "I loved it." --top 3 --json)"}},
      {"generate",
       {R"(attnscope generate --prompt "This movie is" --tokens 20 --temperature 0.8)",
        R"(attnscope generate --model tiny-translate --prompt "I love you")"}},
      {"pull", {"attnscope pull bert-base-uncased", "attnscope pull openai-community/gpt2 --revision main"}},
      {"models", {"attnscope models", "attnscope models tiny-bert --json"}},
      {"explain",
       {R"(attnscope explain "The animal was tired, so it did not cross.")",
        R"(attnscope explain "The animal was tired, so it did not cross." --word it)"}},
      {"trace",
       {R"(attnscope trace --text "The cat sat on the mat." --layer 1 --head 0 --query sat)",
        R"(attnscope trace --text "A cat sat." --layer 1 --head 0 --query sat --key cat)"}},
      {"ablate",
       {R"(attnscope ablate --text "The movie was [MASK]." --head 1.0 --head 2.3)",
        R"(attnscope ablate --text "The movie was [MASK]." --all)"}},
      {"rollout",
       {R"(attnscope rollout --text "The cat sat on the mat." --token sat)",
        R"(attnscope rollout --text "The cat sat on the mat." --output rollout.png)"}},
      {"flow",
       {R"(attnscope flow --text "The cat sat on the mat." --token sat --layer 2)",
        R"(attnscope flow --text "The cat sat on the mat." --all --output flow.png)"}},
      {"compare",
       {R"(attnscope compare "The cat sat." "The dog sat." --model tiny-bert)",
        R"(attnscope compare "A cat sat." "A dog sat." --model tiny-bert --output cat.png)"}},
      {"heatmap",
       {R"(attnscope heatmap --text "The cat sat on the mat." --layer 1 --head 0)",
        R"(attnscope heatmap --text "The cat sat." --layer 1 --head 0 --output cat.png)"}},
      {"heads",
       {R"(attnscope heads --text "The cat sat on the mat." --layer 1)",
        R"(attnscope heads --text "The cat sat." --layer 1 --heads 0,2 --output heads.svg)"}},
      {"headview",
       {R"(attnscope headview --text "The cat sat on the mat." --layer 1)",
        R"(attnscope headview --text "The cat sat." --layer 1 --output lines.svg)"}},
      {"overview",
       {R"(attnscope overview --text "The cat sat on the mat.")",
        R"(attnscope overview --text "The cat sat on the mat." --output overview.png)"}},
      {"mask",
       {R"x(attnscope mask "causal & window(4)")x",
        R"x(attnscope mask "causal & ~window(2)" --size 8x16 --output mask.svg)x"}},
      {"train",
       {"yes 'the cat sat on the mat' | head -n 99 > cats.txt",
        "attnscope train lm --data cats.txt --to my-gpt --steps 9 --batch 2 --vocabulary 0"}},
      {"train lm",
       {"yes 'the cat sat on the mat' | head -n 99 > cats.txt",
        "attnscope train lm --data cats.txt --to my-gpt --steps 9 --batch 2 --vocabulary 0"}},
      {"train mlm",
       {"yes 'the cat sat on the mat' | head -n 99 > cats.txt",
        "attnscope train mlm --data cats.txt --to my-bert --steps 9 --vocabulary 0"}},
      {"train classify",
       {R"(printf 'text,label\na good film,good\na bad film,bad\n' > films.csv)",
        "attnscope train classify --data films.csv --to my-model --steps 9 --vocabulary 0"}},
      {"train translate",
       {R"(printf 'text,translation\nhello,bonjour\ngood night,bonne nuit\n' > fr.csv)",
        "attnscope train translate --data fr.csv --to my-bart --steps 9"}},
      {"lesson", {"attnscope lesson", "attnscope lesson self-attention --all"}},
  };
  return all;
}

void append_examples(CLI::App& command, const std::string& name) {
  const auto found = examples_by_command().find(name);
  if (found == examples_by_command().end()) return;
  std::string footer = command.get_footer();
  footer += footer.empty() ? "Examples:" : "\n\nExamples:";
  for (const std::string_view line : found->second) footer += "\n  " + std::string(line);
  command.footer(footer);
}

}  // namespace

void add_examples(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands({})) {
    const std::string name = command->get_name();
    for (CLI::App* below : command->get_subcommands({})) append_examples(*below, name + " " + below->get_name());
    append_examples(*command, name);
  }
}

}  // namespace attn::cli
