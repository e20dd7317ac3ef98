// apps/cli/commands/train_files.cc - the curves and recordings that a training writes.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <utility>

#include "apps/cli/commands/train.h"
#include "base/new_file.h"
#include "figure/scene/figure.h"
#include "insight/statistics/induction.h"
#include "insight/statistics/statistics.h"
#include "model/recording/recording.h"
#include "model/recording/recording_file.h"

namespace attn::cli {

namespace {

constexpr std::size_t kPoints = 200;  // per curve at most; each is a mean over steps

void draw_curves(const figure::Curves& curves, const std::filesystem::path& file) {
  base::write_file(file, figure::draw(curves, figure::Output{.format = figure::Format::svg}));
}

}  // namespace

void write_losses(const train::History& history, const std::filesystem::path& folder) {
  std::string csv = "step,loss,held_out_loss,held_out_right\n";
  auto evaluated = history.evaluated.begin();
  for (std::size_t n = 0; n < history.losses.size(); ++n) {
    const auto step = static_cast<std::int64_t>(n + 1);
    csv += fmt::format("{},{}", step, history.losses[n]);
    for (; evaluated != history.evaluated.end() && evaluated->step < step;) ++evaluated;
    csv += evaluated != history.evaluated.end() && evaluated->step == step
               ? fmt::format(",{},{}\n", evaluated->loss, evaluated->accuracy)
               : ",,\n";
  }
  base::write_file(folder / "loss.csv", csv);
  if (history.losses.size() < 2) return;

  figure::Curves curves;
  curves.title = "Loss";
  curves.x_label = "step";
  curves.y_label = "nats per token";
  figure::Curves::Curve learned{.name = "training", .x = {}, .y = {}};
  const std::size_t together = std::max<std::size_t>(1, history.losses.size() / kPoints);
  for (std::size_t first = 0; first + together <= history.losses.size(); first += together) {
    double sum = 0;
    for (std::size_t n = first; n < first + together; ++n) sum += history.losses[n];
    learned.x.push_back(static_cast<double>(first) + static_cast<double>(together + 1) / 2);
    learned.y.push_back(sum / static_cast<double>(together));
  }
  curves.curves.push_back(std::move(learned));
  if (history.evaluated.size() > 1) {
    figure::Curves::Curve held_out{.name = "held out", .x = {}, .y = {}};
    for (const train::Evaluation& evaluation : history.evaluated) {
      held_out.x.push_back(static_cast<double>(evaluation.step));
      held_out.y.push_back(evaluation.loss);
    }
    curves.curves.push_back(std::move(held_out));
  }
  draw_curves(curves, folder / "loss.svg");
}

HeadWatch::HeadWatch(std::filesystem::path folder, std::string probe, std::int64_t step)
    : folder_(std::move(folder)), probe_(std::move(probe)) {
  std::filesystem::create_directories(folder_ / "recordings");
  std::ifstream in(folder_ / "heads.csv");
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    Seen seen;
    const char* next = line.data();
    const char* const end = next + line.size();
    const auto take = [&](auto& number) {
      const auto [stop, problem] = std::from_chars(next, end, number);
      next = stop == end ? end : stop + 1;
      return problem == std::errc();
    };
    if (take(seen.step) && take(seen.layer) && take(seen.head) && take(seen.previous) && take(seen.induction) &&
        seen.step <= step)
      seen_.push_back(seen);
  }
}

bool HeadWatch::saw(std::int64_t step) const noexcept {
  return std::ranges::any_of(seen_, [&](const Seen& seen) { return seen.step == step; });
}

void HeadWatch::look(std::int64_t step, ThreadPool& pool) {
  const model::Reader reader = model::Reader::load(folder_);
  model::Recording recording =
      model::read(reader, {.text = probe_, .pair = {}, .target = {}}, {.value_norms = true}, pool);
  if (reader.model->facts().form == model::Form::decoder) recording.induction = insight::induction_scores(reader, pool);
  model::save_recording(recording, folder_ / "recordings" / fmt::format("step-{:06}.attn", step));
  const nn::Matrix induction = std::move(recording.induction);
  const insight::RecordedTables tables(std::move(recording));
  for (const insight::HeadStatistics& head : insight::statistics(tables, {.kind = model::Kind::self}, pool)) {
    const double score = induction.empty() ? 0 : induction.row(head.name.layer)[head.name.head];
    seen_.push_back({step, head.name.layer, head.name.head, head.shares.offset(-1), score});
  }
}

void HeadWatch::write() const {
  std::string csv = "step,layer,head,previous,induction\n";
  std::map<std::int64_t, std::pair<double, double>> best;  // over all heads, by step
  for (const Seen& seen : seen_) {
    // With all digits: a resumed run reads them back and must draw the same curves.
    csv += fmt::format("{},{},{},{},{}\n", seen.step, seen.layer, seen.head, seen.previous, seen.induction);
    auto& [previous, induction] = best[seen.step];
    previous = std::max(previous, seen.previous);
    induction = std::max(induction, seen.induction);
  }
  base::write_file(folder_ / "heads.csv", csv);
  if (best.size() < 2) return;
  figure::Curves curves;
  curves.title = "Heads forming";
  curves.x_label = "step";
  curves.y_label = "attention, best head";
  figure::Curves::Curve previous{.name = "previous token", .x = {}, .y = {}},
      induction{.name = "induction", .x = {}, .y = {}};
  for (const auto& [step, scores] : best) {
    previous.x.push_back(static_cast<double>(step));
    previous.y.push_back(scores.first);
    induction.x.push_back(static_cast<double>(step));
    induction.y.push_back(scores.second);
  }
  const bool any = std::ranges::any_of(induction.y, [](double y) { return y > 0; });
  curves.curves.push_back(std::move(previous));
  if (any) curves.curves.push_back(std::move(induction));
  draw_curves(curves, folder_ / "heads.svg");
}

}  // namespace attn::cli
