// apps/cli/commands/ablate.cc - attnscope ablate: switch heads off and show how predictions change.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "apps/cli/command.h"
#include "apps/cli/options/source.h"
#include "apps/cli/output/json.h"
#include "apps/cli/output/progress.h"
#include "apps/cli/output/terminal.h"
#include "insight/experiments/ablation.h"
#include "model/run/generate.h"

namespace attn::cli {

namespace {

using insight::Ablation;
using insight::HeadId;
using insight::PredictionPlaces;

struct AblateCommand {
  SourceOption source;
  std::vector<std::string> heads;
  std::vector<std::int64_t> at;
  bool all = false;
  std::int64_t top = 10;
  bool json = false;

  void run(ThreadPool& pool) const;
};

// "3.7", "cross:3.7".
HeadId parse_head(const std::string& name) {
  const std::size_t colon = name.find(':'), point = name.find('.');
  const auto kind = colon == std::string::npos ? model::Kind::self : model::parse_kind(name.substr(0, colon));
  const std::size_t from = colon == std::string::npos ? 0 : colon + 1;
  HeadId head;
  const auto is_number = [&](std::size_t first, std::size_t last, std::int64_t& to) {
    const auto [end, problem] = std::from_chars(name.data() + first, name.data() + last, to);
    return first < last && problem == std::errc() && end == name.data() + last;
  };
  if (!kind || point == std::string::npos || !is_number(from, point, head.layer) ||
      !is_number(point + 1, name.size(), head.head)) {
    throw UsageError("--head " + name +
                     ": write LAYER.HEAD, such as 2.9; for an encoder-decoder also decoder:2.9 or cross:2.9");
  }
  head.kind = *kind;
  return head;
}

std::string short_name(const HeadId& head) {
  const std::string kind = head.kind == model::Kind::self ? "" : std::string(name_of(head.kind)) + ":";
  return fmt::format("{}{}.{}", kind, head.layer, head.head);
}

// The predictions at one place, before and after.
struct MovedHead {
  std::int64_t token = 0;
  std::string text;
  double kl = 0;
  std::vector<model::Choice> before, after;
};

struct AblationScene {
  const model::Reader& reader;
  const Ablation& ablation;
  const std::vector<text::Token>& tokens;  // the places are indices into these
  PredictionPlaces places;
  std::int64_t top = 10;

  [[nodiscard]] std::vector<model::Choice> likeliest(const nn::Matrix& logits, std::size_t place) const {
    return model::likeliest({logits.row(static_cast<std::int64_t>(place)), static_cast<std::size_t>(logits.columns())},
                            top);
  }
  [[nodiscard]] std::string text_at(std::size_t place) const {
    return tokens[static_cast<std::size_t>(places.at[place])].text;
  }
};

double mean(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
}

void check_numbers(double kl) {
  if (!std::isfinite(kl)) throw std::runtime_error("the model's predictions are not finite: its weights are broken");
}

// ---- JSON ----

Json to_json(const std::vector<model::Choice>& choices, const text::Tokenizer& tokenizer) {
  Json words = Json::array();
  for (const model::Choice& choice : choices) {
    words.push_back({{"word", word_of(tokenizer, choice.id)},
                     {"id", choice.id},
                     {"probability", static_cast<float>(choice.probability)}});
  }
  return words;
}

Json to_json(const std::vector<HeadId>& off, const std::vector<MovedHead>& moved, const AblationScene& scene) {
  Json json = {{"off", Json::array()}, {"kl", 0}, {"positions", Json::array()}};
  for (const HeadId& head : off) json["off"].push_back(to_json(head));
  std::vector<double> kl;
  for (const MovedHead& one : moved) {
    kl.push_back(one.kl);
    json["positions"].push_back({{"token", one.token},
                                 {"text", one.text},
                                 {"kl", static_cast<float>(one.kl)},
                                 {"before", to_json(one.before, scene.reader.tokenizer)},
                                 {"after", to_json(one.after, scene.reader.tokenizer)}});
  }
  json["kl"] = static_cast<float>(mean(kl));
  return json;
}

Json to_json(const std::vector<Ablation::Effect>& effects, const AblationScene& scene) {
  Json json = {{"positions", Json::array()}, {"heads", Json::array()}};
  for (std::size_t p = 0; p < scene.places.at.size(); ++p) {
    json["positions"].push_back(
        {{"token", scene.places.at[p]},
         {"text", scene.text_at(p)},
         {"before", to_json(scene.likeliest(scene.ablation.before(), p), scene.reader.tokenizer)}});
  }
  for (const Ablation::Effect& effect : effects) {
    Json one = to_json(effect.head);
    one["kl"] = static_cast<float>(effect.kl);
    one["likeliest"] = Json::array();
    for (const std::int32_t id : effect.likeliest)
      one["likeliest"].push_back({{"word", word_of(scene.reader.tokenizer, id)}, {"id", id}});
    json["heads"].push_back(std::move(one));
  }
  return json;
}

// ---- text ----

constexpr std::string_view kAblationCaution = "one pass without retraining: other heads may do the same work";

std::string choice_cell(const model::Choice& choice, const AblationScene& scene, const Terminal& terminal, int width) {
  constexpr int kNumber = 8;
  const int word = std::min(14, width - kNumber - 4);
  return fitted(word_of(scene.reader.tokenizer, choice.id), word) + fmt::format(" {:.4f} ", choice.probability) +
         terminal.bar(choice.probability, width - word - kNumber);
}

// Both lists of words side by side.
std::string to_text(const MovedHead& moved, const AblationScene& scene, const Terminal& terminal) {
  const int width = (terminal.width() - 3) / 2;
  std::string out =
      terminal.sentence({{on_one_line(moved.text), Phrase::Style::bold},
                         {fmt::format("token {}: {}", moved.token, scene.places.what), Phrase::Style::dim},
                         {fmt::format(" KL(before || after) {:.6f} nats", moved.kl)}});
  out += terminal.dim(fitted("before", width) + "   after") + "\n";
  for (std::size_t n = 0; n < std::max(moved.before.size(), moved.after.size()); ++n) {
    out += choice_cell(moved.before[n], scene, terminal, width) + "   " +
           choice_cell(moved.after[n], scene, terminal, width) + "\n";
  }
  return without_blank_ends(out);
}

// One line per place, if there are too many for lists.
std::string to_lines(const std::vector<MovedHead>& moved, const AblationScene& scene, const Terminal& terminal) {
  const int word = std::min(14, (terminal.width() - 18) / 3);
  double largest = 0;
  for (const MovedHead& one : moved) largest = std::max(largest, one.kl);
  const int bar = std::clamp(terminal.width() - 3 * word - 19, 0, 24);
  std::string out = terminal.dim(fmt::format("{:>5} {} {} {} KL, nats", "token", fitted("", word),
                                             fitted("before", word), fitted("after", word))) +
                    "\n";
  for (const MovedHead& one : moved) {
    const auto first = [&](const std::vector<model::Choice>& of) {
      return fitted(word_of(scene.reader.tokenizer, of[0].id), word);
    };
    out +=
        fmt::format("{:5} {} {} {} {:9.6f} {}\n", one.token, terminal.bold(fitted(on_one_line(one.text), word)),
                    first(one.before), first(one.after), one.kl, terminal.bar(largest > 0 ? one.kl / largest : 0, bar));
  }
  return without_blank_ends(out) +
         terminal.note(fmt::format("likeliest word for {}; --at I shows one place in full", scene.places.what));
}

std::string to_text(const std::vector<HeadId>& off, const std::vector<MovedHead>& moved, const AblationScene& scene) {
  constexpr std::size_t kMostLists = 3;
  const Terminal terminal = Terminal::of_stdout();
  std::string names;
  for (const HeadId& head : off) names += (names.empty() ? "" : ", ") + short_name(head);
  std::string out = terminal.sentence({{"without"}, {names, Phrase::Style::bold}});
  if (moved.size() > kMostLists) {
    out += to_lines(moved, scene, terminal);
  } else {
    for (const MovedHead& one : moved) out += to_text(one, scene, terminal);
  }
  return out + terminal.note(std::string(kAblationCaution));
}

std::string to_text(const std::vector<Ablation::Effect>& effects, const AblationScene& scene) {
  const Terminal terminal = Terminal::of_stdout();
  const std::size_t shown = std::min(effects.size(), static_cast<std::size_t>(scene.top));
  const bool one_place = scene.places.at.size() == 1;
  std::string out;
  if (one_place) {
    out = terminal.sentence({{on_one_line(scene.text_at(0)), Phrase::Style::bold},
                             {fmt::format("token {}, {}:", scene.places.at[0], scene.places.what), Phrase::Style::dim},
                             {word_of(scene.reader.tokenizer, scene.likeliest(scene.ablation.before(), 0)[0].id)}});
  }
  constexpr std::string_view kWithout = "without", kThen = "likeliest then";
  auto name = static_cast<int>(kWithout.size());
  for (std::size_t n = 0; n < shown; ++n) name = std::max(name, columns_of(short_name(effects[n].head)));
  const int word = one_place ? static_cast<int>(kThen.size()) : 0;
  const int bar = std::clamp(terminal.width() - name - word - 13, 0, 24);
  out += terminal.dim(fmt::format("{} {:>9} {} {}", fitted(kWithout, name), "KL, nats", repeat(" ", bar),
                                  one_place ? kThen : "")) +
         "\n";
  for (std::size_t n = 0; n < shown; ++n) {
    const Ablation::Effect& effect = effects[n];
    out += fmt::format("{} {:9.6f} {} {}\n", terminal.bold(fitted(short_name(effect.head), name)), effect.kl,
                       terminal.bar(effects[0].kl > 0 ? effect.kl / effects[0].kl : 0, bar),
                       one_place ? fitted(word_of(scene.reader.tokenizer, effect.likeliest[0]), word) : "");
  }
  if (shown < effects.size())
    out += terminal.note(counted(std::ssize(effects) - static_cast<std::int64_t>(shown), "more head") +
                         (effects.size() - shown == 1 ? " changes" : " change") +
                         " less; show more with --top, all with --json");
  const std::string over =
      one_place ? "" : fmt::format("mean over {}; ", counted(std::ssize(scene.places.at), "place"));
  return without_blank_ends(out) + terminal.note(over + "each head switched off alone: others may do the same work");
}

// ---- the command ----

std::vector<MovedHead> moved_without(const AblationScene& scene, const std::vector<HeadId>& off, ThreadPool& pool) {
  const nn::Matrix after = scene.ablation.without(off, pool);
  const std::vector<double> kl = scene.ablation.divergence(after);
  std::vector<MovedHead> moved;
  for (std::size_t p = 0; p < kl.size(); ++p) {
    check_numbers(kl[p]);
    moved.push_back({scene.places.at[p], scene.text_at(p), kl[p], scene.likeliest(scene.ablation.before(), p),
                     scene.likeliest(after, p)});
  }
  return moved;
}

void AblateCommand::run(ThreadPool& pool) const {
  if (all == !heads.empty()) throw UsageError("choose heads with --head LAYER.HEAD, or use --all");
  const SourceOption::Opened opened = source.read({.attention = false}, pool);
  const model::Facts& facts = opened.reader.model->facts();
  std::vector<HeadId> off;
  for (const std::string& name : heads) off.push_back(parse_head(name));
  or_usage([&] {
    for (const HeadId& head : off) check_head(facts, head);
  });
  PredictionPlaces places = insight::places_of(opened.reader, opened.recording, at);
  if (places.at.empty()) throw UsageError("the text has no word to predict");
  const Ablation ablation(opened.reader, opened.recording, places.at, pool);
  const bool by_target = facts.form == model::Form::encoder_decoder;
  const AblationScene scene{opened.reader, ablation, by_target ? opened.recording.target : opened.recording.tokens,
                            std::move(places), top};
  if (!all) {
    const std::vector<MovedHead> moved = moved_without(scene, off, pool);
    return print(json ? as_line(to_json(off, moved, scene)) : to_text(off, moved, scene));
  }
  ProgressLine line;
  const auto progress = [&](std::int64_t done, std::int64_t total) { line.count(done, total, "head"); };
  const std::vector<Ablation::Effect> effects = ablation.rank(insight::heads_of(facts), progress, pool);
  line.clear();
  for (const Ablation::Effect& effect : effects) check_numbers(effect.kl);
  print(json ? as_line(to_json(effects, scene)) : to_text(effects, scene));
}

}  // namespace

void add_ablate(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<AblateCommand>();
  CLI::App* command = app.add_subcommand("ablate", "Switch heads off and show how predictions change");
  options->source.add_to(*command, SourceOption::Takes::models);
  command
      ->add_option("--head", options->heads,
                   "Head to switch off, such as 2.9; for an encoder-decoder also decoder:2.9 or cross:2.9")
      ->type_name("LAYER.HEAD");
  command->add_flag("--all", options->all, "Switch off each head alone and rank them by effect");
  command
      ->add_option("--at", options->at,
                   "Token numbers to predict at (default: each [MASK], else every token; in a decoder the next token; "
                   "in an encoder-decoder all of its output)")
      ->type_name("I");
  command->add_option("--top", options->top, "Number of words to show per place; with --all, number of heads")
      ->check(CLI::Range(1, 100000))
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--json", options->json, "Print one line of JSON");
  command->callback([options, &shell] { options->run(shell.pool()); });
}

}  // namespace attn::cli
