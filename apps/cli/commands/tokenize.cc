// apps/cli/commands/tokenize.cc - attnscope tokenize: the tokens that a model sees.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "apps/cli/command.h"
#include "apps/cli/output/json.h"
#include "apps/cli/output/terminal.h"
#include "text/tokenizer/tokenizer.h"

namespace attn::cli {

namespace {

struct TokenizeCommand {
  ModelOption model;
  TextOption text;
  std::optional<std::string> pair;
  bool bare = false;
  bool json = false;

  void run() const;
};

Json to_json(const text::Encoding& encoding) {
  Json json = {{"ids", Json::array()},    {"tokens", Json::array()}, {"offsets", Json::array()},
               {"pieces", Json::array()}, {"words", Json::array()},  {"types", Json::array()},
               {"special", Json::array()}};
  for (const text::Token& token : encoding.tokens) {
    json["ids"].push_back(token.id);
    json["tokens"].push_back(token.text);
    json["offsets"].push_back({token.span.from, token.span.to});
    json["pieces"].push_back(token.piece);
    json["words"].push_back(token.word ? Json(*token.word) : Json(nullptr));
    json["types"].push_back(token.sequence);
    json["special"].push_back(token.special);
  }
  return json;
}

std::string to_table(const text::Encoding& encoding, const Terminal& terminal) {
  int widest = 5;
  for (const text::Token& token : encoding.tokens) widest = std::max(widest, columns_of(on_one_line(token.text)));
  widest = std::min(widest, terminal.width() - 40);
  std::string out =
      terminal.dim(fmt::format("{:>5}  {:>7}  {}  {:>11}  {:>5}", "", "id", fitted("token", widest), "text", "word")) +
      "\n";
  for (std::size_t i = 0; i < encoding.tokens.size(); ++i) {
    const text::Token& token = encoding.tokens[i];
    const std::string shown = fitted(on_one_line(token.text), widest);
    out += fmt::format("{:>5}  {:>7}  {}  {:>11}  {:>5}\n", i, token.id,
                       token.special ? terminal.dim(shown) : terminal.bold(shown),
                       token.special ? "" : fmt::format("{}..{}", token.span.from, token.span.to),
                       token.word ? std::to_string(*token.word) : "");
  }
  return out;
}

void TokenizeCommand::run() const {
  const std::string first = text.read();
  const text::Tokenizer tokenizer = text::Tokenizer::load(model.folder());
  const text::Encoding encoding = pair ? tokenizer.encode(first, *pair, bare) : tokenizer.encode(first, bare);
  print(json ? as_line(to_json(encoding)) : to_table(encoding, Terminal::of_stdout()));
}

}  // namespace

void add_tokenize(CLI::App& app, Shell& /*shell*/) {
  auto options = std::make_shared<TokenizeCommand>();
  CLI::App* command = app.add_subcommand("tokenize", "Show the tokens that a model sees");
  options->model.add_to(*command);
  options->text.add_to(*command, "Text to split into tokens");
  command->add_option("--pair", options->pair, "Second text, for models that read pairs")->type_name("TEXT");
  command->add_flag("--bare", options->bare, "Leave out special tokens such as [CLS]");
  command->add_flag("--json", options->json,
                    "Print one line of JSON: ids, tokens, offsets (in code points), pieces, words, types, special");
  command->callback([options] { options->run(); });
}

}  // namespace attn::cli
