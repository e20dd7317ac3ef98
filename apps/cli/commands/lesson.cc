// apps/cli/commands/lesson.cc - attnscope lesson: attention step by step, with numbers that a reader can check.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "apps/cli/command.h"
#include "apps/cli/output/output_file.h"
#include "apps/cli/output/progress.h"
#include "apps/cli/output/terminal.h"
#include "base/read_file.h"
#include "course/json.h"
#include "course/screen.h"

namespace attn::cli {

namespace {

using course::Lesson;

struct LessonOptions {
  std::string name, language = "en", input, folder;
  std::optional<std::string> text, vectors, model, data;
  std::optional<std::int64_t> seed;
  std::vector<std::string> settings;
  bool all = false, json = false;
};

std::string list_text(const std::string& language, const Terminal& terminal) {
  std::string out = "\n";
  int widest = 0;
  for (const Lesson& one : course::lessons()) widest = std::max(widest, columns_of(one.name));
  for (const Lesson& one : course::lessons()) {
    out += "  " + terminal.bold(fitted(one.name, widest + 2));
    out += terminal.sentence({{one.scripts.at(language).line}}, widest + 4);
  }
  return out + "\n";
}

// Waits for Enter. Returns false if the reader quits.
bool waits(const Terminal& terminal, const std::string& language) {
  print(terminal.dim(language == "zh" ? "  回车继续，q 结束 " : "  Enter: continue, q: quit "));
  std::fflush(stdout);
  std::string line;
  return std::getline(std::cin, line) && line != "q";
}

// Asks a step's questions and checks the reader's answers.
void ask(const course::ScriptStep& step, const course::LessonOutput& output, const std::string& language) {
  const bool zh = language == "zh";
  for (const course::ScriptBlock& block : step.blocks) {
    if (block.answer.empty()) continue;
    const double right = course::number_at(block.answer, output);
    for (std::string line;
         print(zh ? "  答案： " : "  your answer: "), std::fflush(stdout), std::getline(std::cin, line);) {
      if (line.empty()) break;
      double input = 0;
      const auto [stop, problem] = std::from_chars(line.data(), line.data() + line.size(), input);
      const bool is_right = problem == std::errc() && std::abs(input - right) <= block.tolerance;
      print(is_right ? (zh ? "  ✓ 对了\n" : "  ✓ right\n")
                     : (zh ? "  ✗ 不对，再试一次；回车跳过\n" : "  ✗ not yet; try again, or press Enter to skip\n"));
      if (is_right) break;
    }
    print(fmt::format("  {} {:.6g}\n", zh ? "引擎算得" : "the engine computes", right));
  }
}

// LESSON-FIGURE.png, unless the figure's name is a file name already: "attention_heatmap.png".
std::string file_of(const Lesson& of, const std::string& figure) {
  return figure.ends_with(".png") ? figure : of.name + "-" + figure + ".png";
}

void write_figures(const std::string& folder, const Lesson& of, const course::LessonOutput& output) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  for (const auto& [name, picture] : output.figures) {
    OutputFile out((std::filesystem::path(folder) / file_of(of, name)).string());
    out.write(figure::draw(picture, figure::Output{}));
    out.commit();
  }
}

// Replaces a text of the lesson. Throws UsageError if the lesson has none of that name.
void put_text(course::LessonInput& input, const char* name, const std::optional<std::string>& text) {
  if (!text) return;
  if (!input.texts.contains(name)) throw UsageError(fmt::format("this lesson takes no --{}", name));
  input.texts[name] = *text;
}

course::LessonInput given_by(const LessonOptions& options, course::LessonInput input) {
  if (!options.input.empty()) or_usage([&] { input.read(base::read_file(options.input)); });
  put_text(input, "text", options.text);
  put_text(input, "model", options.model);
  put_text(input, "data", options.data);
  if (options.vectors) or_usage([&] { input.read_vectors(base::read_file(*options.vectors)); });
  if (options.seed) or_usage([&] { input.set(fmt::format("seed={}", *options.seed)); });
  for (const std::string& assignment : options.settings) or_usage([&] { input.set(assignment); });
  return input;
}

void tell(const Lesson& chosen, const LessonOptions& options, ThreadPool& pool) {
  const course::LessonInput input = given_by(options, chosen.input);
  const course::LessonOutput output = or_usage([&] { return chosen.tell(input, {.pool = pool}); });
  if (!options.folder.empty()) write_figures(options.folder, chosen, output);
  if (options.json) return print(course::numbers_json(chosen, output).dump() + "\n");
  const Terminal terminal = Terminal::of_stdout();
  const course::OnScreen on{terminal, options.language};
  const course::Script script = filled(chosen.scripts.at(options.language), output);
  print(beginning(chosen, script, on));
  const bool stops = !options.all && isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
  for (std::size_t n = 0; n < script.steps.size(); ++n) {
    print(step_text(script.steps[n], output, on));
    if (stops) ask(script.steps[n], output, options.language);
    if (stops && n + 1 < script.steps.size() && !waits(terminal, options.language)) return;
  }
}

const Lesson& named(const std::string& name) {
  if (const Lesson* const found = course::find_lesson(name)) return *found;
  std::vector<std::string> names;
  for (const Lesson& one : course::lessons()) names.push_back(one.name);
  throw UsageError(fmt::format("unknown lesson '{}'; choose one of {}", name, fmt::join(names, ", ")));
}

}  // namespace

void add_lesson(CLI::App& app, Shell& shell) {
  CLI::App* command = app.add_subcommand("lesson", "Learn attention step by step, with numbers you can check");
  auto options = std::make_shared<LessonOptions>();
  command->add_option("name", options->name, "Lesson to show (default: list all lessons)")->type_name("NAME");
  command->add_option("--lang", options->language, "Language of the lesson: en or zh")
      ->check(CLI::IsMember({"en", "zh"}))
      ->capture_default_str();
  command->add_flag("--all", options->all, "Show all steps without stopping between them");
  command->add_flag("--json", options->json, "Print one line of JSON: the numbers, or the list of lessons");
  command->add_option("--input", options->input, "File with your own data: a JSON object of arrays, or a CSV table")
      ->type_name("FILE");
  command->add_option("--text,-t", options->text, "Sentence of your own, if the lesson has one")->type_name("T");
  command->add_option("--vectors", options->vectors, "File with vectors of your own: a word and its numbers per line")
      ->type_name("FILE");
  command->add_option("--model,-m", options->model, "Model to use, if the lesson uses one")->type_name("M");
  command->add_option("--data", options->data, "Texts to use, if the lesson reads some")->type_name("FILE|DIR");
  command->add_option("--seed", options->seed, "Seed for the lesson's random numbers")->type_name("N");
  command->add_option("--set", options->settings, "Setting of the lesson to change")->type_name("NAME=NUMBER");
  command->add_option("--output,-o", options->folder, "Folder to write the figures to")->type_name("DIR");
  command->callback([options, &shell] {
    if (!options->name.empty()) return tell(named(options->name), *options, shell.pool());
    print(options->json ? course::list_json(options->language).dump() + "\n"
                        : list_text(options->language, Terminal::of_stdout()));
  });
}

}  // namespace attn::cli
