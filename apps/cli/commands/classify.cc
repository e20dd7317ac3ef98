// apps/cli/commands/classify.cc - attnscope classify for one text: its label and the words the model attended to.
#include "apps/cli/commands/classify.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <vector>

#include "apps/cli/output/json.h"
#include "apps/cli/output/terminal.h"
#include "base/utf8.h"
#include "insight/statistics/words_attended.h"
#include "insight/tables/words.h"
#include "model/run/classify.h"
#include "model/run/prepare.h"

namespace attn::cli {

namespace {

// What the first token attends to. The label is predicted from that token's state.
struct Looked {
  insight::HeadId head;    // gives the layer
  std::int64_t heads = 0;  // number of heads averaged
  bool last = false;       // whether it is the last layer
  std::vector<text::Token> words;
  std::vector<float> weights;
  insight::Attended most;

  [[nodiscard]] double largest() const { return most.most.empty() ? 0 : most.most.front().weight; }
};

Looked look(model::Recording recording, const ClassifyCommand& how, ThreadPool& pool) {
  const auto tables = insight::merged_words(std::make_unique<insight::RecordedTables>(std::move(recording)));
  HeadOption head = how.head;
  const insight::AttentionStack& stack = tables->stack(insight::Kind::self);
  if (!head.layer) head.layer = stack.layers - 1;
  const std::vector<insight::HeadId> heads = head.chosen(*tables);
  Looked looked{.head = heads.front(),
                .heads = std::ssize(heads),
                .last = *head.layer == stack.layers - 1,
                .words = tables->keys(insight::Kind::self),
                .weights = insight::mean_row(*tables, heads, 0, pool),
                .most = {}};
  looked.most = insight::attended(looked.weights, looked.words, {.top = how.top, .special = false});
  return looked;
}

std::string title_of(const Looked& looked) {
  const std::string first = on_one_line(looked.words.front().text);
  const std::string which =
      looked.heads > 1 ? fmt::format("mean of its {} heads", looked.heads) : fmt::format("head {}", looked.head.head);
  return fmt::format("What {} attends to in layer {}{}, {}:", first, looked.head.layer,
                     looked.last ? " (the last)" : "", which);
}

// The original text, each word on a shade of its weight.
class ShadedText {
 public:
  ShadedText(const Looked& looked, const Terminal& terminal) : looked_(looked), terminal_(terminal) {}

  [[nodiscard]] std::string draw() {
    for (std::size_t i = 0; i < looked_.words.size(); ++i) {
      const text::Token& word = looked_.words[i];
      if (word.special) {
        end_of_text();
        continue;
      }
      // Some tokenizers include the preceding space in a word's span.
      const bool apart = word.span.from > end_ || characters(word.text) < word.span.to - word.span.from;
      if (apart) break_run();
      end_ = word.span.to;
      add(word.text, looked_.weights[i] / std::max(looked_.largest(), 1e-30));
    }
    end_of_text();
    return std::move(out_);
  }

 private:
  static std::int64_t characters(std::string_view text) {
    std::int64_t count = 0;
    for (std::size_t at = 0; at < text.size(); at += base::first_character(text.substr(at)).size) ++count;
    return count;
  }
  void add(std::string_view text, double share) {
    constexpr double kFaint = 0.1;  // of the largest: weaker words get no shade, so that the others stand out
    const std::string clean = on_one_line(text);
    const int width = columns_of(clean);
    if (run_width_ + width > terminal_.width()) break_run();
    run_ += share < kFaint ? clean : terminal_.shaded(clean, share);
    run_width_ += width;
  }
  // Moves a run without spaces to this line, or to the next if it does not fit.
  void break_run() {
    if (run_width_ == 0) return;
    if (used_ > 0 && used_ + 1 + run_width_ > terminal_.width()) out_ += "\n", used_ = 0;
    out_ += (used_ > 0 ? " " : "") + run_;
    used_ += run_width_ + (used_ > 0 ? 1 : 0);
    run_.clear();
    run_width_ = 0;
  }
  void end_of_text() {
    break_run();
    if (used_ > 0) out_ += "\n";
    used_ = 0;
    end_ = 0;
  }

  const Looked& looked_;
  const Terminal& terminal_;
  std::string out_, run_;
  int used_ = 0, run_width_ = 0;
  std::int64_t end_ = 0;  // where the previous word ends in the text
};

std::string words_table(const Looked& looked, const Terminal& terminal) {
  int widest = 4;
  for (const auto& share : looked.most.most)
    widest = std::max(widest, columns_of(on_one_line(looked.words[static_cast<std::size_t>(share.key)].text)));
  widest = std::min(widest, 24);
  std::string out;
  for (const auto& [key, weight] : looked.most.most) {
    const std::string word = on_one_line(looked.words[static_cast<std::size_t>(key)].text);
    out += fmt::format("{}  {:.4f}  {}\n", terminal.bold(fitted(word, widest)), weight,
                       terminal.bar(weight / looked.largest(), 32));
  }
  return without_blank_ends(out) +
         terminal.note(fmt::format("All other words get {:.4f}, special tokens {:.4f}; the total is 1.",
                                   looked.most.rest, looked.most.special));
}

std::string labels_table(const std::vector<std::string>& labels, const std::vector<model::Choice>& choices,
                         const Terminal& terminal) {
  int widest = 4;
  for (const std::string& label : labels) widest = std::max(widest, columns_of(on_one_line(label)));
  std::string out;
  for (const model::Choice& choice : choices) {
    const std::string label = fitted(on_one_line(labels[static_cast<std::size_t>(choice.id)]), std::min(widest, 32));
    const bool first = &choice == &choices.front();
    out += fmt::format("{}  {:.4f}  {}\n", first ? terminal.bold(label) : label, choice.probability,
                       terminal.bar(choice.probability, 32));
  }
  return without_blank_ends(out);
}

Json to_json(const Looked& looked) {
  Json words = Json::array();
  for (std::size_t i = 0; i < looked.words.size(); ++i) {
    const text::Token& word = looked.words[i];
    Json one = {{"word", word.text}, {"weight", looked.weights[i]}};
    one["span"] = word.special ? Json(nullptr) : Json({word.span.from, word.span.to});
    one["special"] = word.special;
    words.push_back(std::move(one));
  }
  return words;
}

}  // namespace

void ClassifyCommand::run_text(const model::Reader& reader, ThreadPool& pool) const {
  const model::Facts& facts = reader.model->facts();
  const std::string written = text.read();
  model::Recording recording =
      model::read(reader, {.text = written, .pair = pair, .target = {}, .target_ids = {}, .cut = true}, {}, pool);
  if (std::ranges::all_of(recording.tokens, &text::Token::special)) throw UsageError("the text is empty");
  const std::int64_t read = std::ssize(recording.tokens);
  std::int64_t whole = read;
  if (read == facts.max_tokens)  // the rest may have been cut
    whole = std::ssize((pair ? reader.tokenizer.encode(written, *pair) : reader.tokenizer.encode(written)).tokens);
  const nn::Matrix logits = model::classify(reader, recording, pool);
  const std::vector<model::Choice> choices =
      label_choices(facts, {logits.data(), static_cast<std::size_t>(logits.columns())});
  const Looked looked = look(std::move(recording), *this, pool);
  if (json) {
    Json scores = Json::array();
    for (const model::Choice& choice : choices) {
      scores.push_back({{"label", facts.labels[static_cast<std::size_t>(choice.id)]},
                        {"probability", static_cast<float>(choice.probability)},
                        {"logit", logits.data()[choice.id]}});
    }
    print(as_line({{"model", model.chosen()},
                   {"label", scores[0]["label"]},
                   {"scores", scores},
                   {"tokens", whole},
                   {"read", read},
                   {"layer", looked.head.layer},
                   {"head", head.head ? Json(*head.head) : Json(nullptr)},
                   {"words", to_json(looked)}}));
    return;
  }
  const Terminal terminal = Terminal::of_stdout();
  std::string out = labels_table(facts.labels, choices, terminal) + "\n";
  if (read < whole)
    out += terminal.note(fmt::format("Read the first {} of {} tokens, the most the model takes.", grouped(read),
                                     grouped(whole))) +
           "\n";
  out += terminal.dim(title_of(looked)) + "\n\n";
  if (terminal.coloured()) out += ShadedText(looked, terminal).draw() + "\n";
  print(out + words_table(looked, terminal));
}

void ClassifyCommand::run(ThreadPool& pool) const {
  const model::Reader reader = model::Reader::load(model.folder());
  model::check_labels(reader.model->facts());
  data ? run_data(*data, reader, pool) : run_text(reader, pool);
}

void add_classify(CLI::App& app, Shell& shell) {
  auto options = std::make_shared<ClassifyCommand>();
  CLI::App* command = app.add_subcommand("classify", "Classify a text and show the words it attended to");
  options->model.add_to(*command);
  options->text.add_to(*command, "Text to classify");
  command->add_option("--pair", options->pair, "Second text, for models that read pairs")->type_name("TEXT");
  command
      ->add_option("--layer", options->head.layer, "Layer to take the words' weights from, from 0 (default: the last)")
      ->type_name("L");
  command
      ->add_option("--head", options->head.head,
                   "Head to take the words' weights from, from 0 (default: the mean of all)")
      ->type_name("H");
  at_least(1, command->add_option("--top", options->top, "Number of words to list"))
      ->type_name("K")
      ->capture_default_str();
  auto* data =
      command
          ->add_option("--data", options->data,
                       "Texts to classify instead: one per line, a column of .csv, or \"text\" in .jsonl; or a "
                       "folder of text files")
          ->type_name("FILE");
  for (const char* other : {"--text", "--file", "--pair", "--layer", "--head"}) data->excludes(other);
  command->add_option("--text-column", options->text_column, "Column or key of --data that holds the texts")
      ->type_name("NAME")
      ->needs(data);
  command->add_flag("--labels", options->labelled, "Compare with the labels in --data and print the accuracy")
      ->needs(data);
  command
      ->add_option("--label-column", options->label_column,
                   "Column or key of --data that holds the labels; implies --labels")
      ->type_name("NAME")
      ->needs(data);
  command
      ->add_option("--held-out", options->held_out,
                   "Share of --data to classify: the texts that train --held-out sets apart")
      ->check(CLI::Range(0.001, 1.0))
      ->type_name("SHARE")
      ->needs(data);
  at_least(1, command->add_option("--limit", options->limit,
                                  "Number of texts of --data to classify, from the first (default: all)"))
      ->type_name("N")
      ->needs(data);
  command->add_flag("--json", options->json, "Print one line of JSON");
  command->footer(
      "A word's weight is the attention it gets from the first token, from which the label is predicted: the sum over\n"
      "its pieces in the last layer, averaged over all heads. It shows where the model looked, not why it decided.");
  command->callback([options, &shell] {
    options->labelled = options->labelled || options->label_column;
    options->run(shell.pool());
  });
}

}  // namespace attn::cli
