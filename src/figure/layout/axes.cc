#include "figure/layout/axes.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "figure/scene/label.h"

namespace attn::figure {

namespace {

constexpr double kLabelGap = 4;            // between a panel and its labels
constexpr double kAxisTick = 2.5;          // a hairline, if only some cells have labels
constexpr double kLongestAxisLabel = 110;  // in points; longer labels are cut
constexpr double kLeastSize = 5.5;         // the smallest size that is legible in print
constexpr double kSlant = std::numbers::sqrt2 / 2;

double reach_of(const Labels& labels) { return labels.every > 1 ? kLabelGap + kAxisTick : kLabelGap; }

// 1, 2, 5, 10, 20, 50, ...
std::int64_t next_round(std::int64_t number) {
  std::int64_t ten = 1;
  while (ten * 10 <= number) ten *= 10;
  return number < 2 * ten ? 2 * ten : number < 5 * ten ? 5 * ten : 10 * ten;
}

std::string ordinal(std::int64_t number) { return number == 2 ? "second" : std::to_string(number) + "th"; }

}  // namespace

Labels fit_labels(const Sheet& sheet, std::span<const std::string> labels, double pitch, Side side,
                  std::int64_t least_every) {
  Labels fitted;
  if (labels.empty()) return fitted;
  // Slanted lines are closer than their cells, but ascenders rarely meet descenders.
  const double room = side == Side::rows ? pitch / 1.15 : pitch * kSlant / 0.92;
  fitted.size = std::min(kTextSize, room);
  if (fitted.size < kLeastSize) {
    fitted.size = 7;
    fitted.every = least_every;
    while (room * static_cast<double>(fitted.every) < 1.2 * fitted.size) fitted.every = next_round(fitted.every);
  }
  for (std::size_t i = 0; i < labels.size(); i += static_cast<std::size_t>(fitted.every)) {
    fitted.texts.push_back(sheet.typesetter().fitted(visible(labels[i]), {fitted.size}, kLongestAxisLabel));
    fitted.widest = std::max(fitted.widest, sheet.typesetter().width(fitted.texts.back(), {fitted.size}));
  }
  return fitted;
}

PanelLabels fit_labels(const Sheet& sheet, const Panel& panel, std::span<const std::string> rows,
                       std::span<const std::string> columns) {
  PanelLabels labels{fit_labels(sheet, rows, panel.row_pitch(), Side::rows),
                     fit_labels(sheet, columns, panel.column_pitch(), Side::columns)};
  const std::int64_t every = std::max(labels.rows.every, labels.columns.every);
  if (labels.rows.every > 1 && labels.rows.every < every)
    labels.rows = fit_labels(sheet, rows, panel.row_pitch(), Side::rows, every);
  if (labels.columns.every > 1 && labels.columns.every < every)
    labels.columns = fit_labels(sheet, columns, panel.column_pitch(), Side::columns, every);
  return labels;
}

void put_row_labels(Sheet& sheet, const Panel& panel, const Labels& labels) {
  for (std::size_t i = 0; i < labels.texts.size(); ++i) {
    const double row = static_cast<double>(static_cast<std::int64_t>(i) * labels.every) + 0.5;
    const double y = panel.box.y + row * panel.row_pitch();
    if (labels.every > 1) sheet.line({panel.box.x - kAxisTick, y}, {panel.box.x, y});
    sheet.add(Writing{.at = {panel.box.x - reach_of(labels), y},
                      .text = labels.texts[i],
                      .size = labels.size,
                      .anchor = Anchor::end});
  }
}

void put_column_labels(Sheet& sheet, const Panel& panel, const Labels& labels) {
  for (std::size_t i = 0; i < labels.texts.size(); ++i) {
    const double column = static_cast<double>(static_cast<std::int64_t>(i) * labels.every) + 0.5;
    const double x = panel.box.x + column * panel.column_pitch(), bottom = panel.box.bottom();
    if (labels.every > 1) sheet.line({x, bottom}, {x, bottom + kAxisTick});
    // Aligns the upper right corner of the last letter, not its middle, with the cell.
    sheet.add(Writing{.at = {x + 0.1 * labels.size, bottom + reach_of(labels) + 0.2 * labels.size},
                      .text = labels.texts[i],
                      .size = labels.size,
                      .anchor = Anchor::end,
                      .angle = 45});
  }
}

double depth_of(const Labels& labels) {
  return labels.empty() ? 0 : reach_of(labels) + (labels.widest + 0.8 * labels.size) * kSlant;
}

double overhang_of(const Panel& panel, const Labels& labels) {
  return std::max(0.0, labels.widest * kSlant - panel.column_pitch() / 2);
}

std::string thinning_note(const Labels& labels, std::string_view cell) {
  if (labels.every == 1) return "";
  return "Every " + ordinal(labels.every) + " " + std::string(cell) + " is labelled.";
}

std::string thinning_note(const PanelLabels& labels) {
  if (labels.rows.every == labels.columns.every) return thinning_note(labels.rows, "row and column");
  return joined({thinning_note(labels.rows, "row"), thinning_note(labels.columns, "column")});
}

std::string joined(std::initializer_list<std::string_view> sentences) {
  std::string all;
  for (const std::string_view sentence : sentences)
    if (!sentence.empty()) all += (all.empty() ? "" : " ") + std::string(sentence);
  return all;
}

void put_x_name(Sheet& sheet, double middle, double y, const std::string& name) {
  if (name.empty()) return;
  sheet.add(Writing{.at = {middle, y + 5 + 0.5 * kTextSize}, .text = visible(name), .anchor = Anchor::middle});
}

void put_y_name(Sheet& sheet, double x, double middle, const std::string& name) {
  if (name.empty()) return;
  sheet.add(
      Writing{.at = {x - 7 - 0.5 * kTextSize, middle}, .text = visible(name), .anchor = Anchor::middle, .angle = 90});
}

namespace {

// A triangle at the end of the bar, upwards (`tip` above `y`) or downwards: numbers lie beyond it.
void put_tip(Sheet& sheet, const Box& bar, double y, double tip, const Colour& colour) {
  sheet.add(Area{{{bar.x, y}, {bar.right(), y}, {bar.x + bar.width / 2, tip}}, colour});
  sheet.add(Stroke{{{bar.x, y}, {bar.x + bar.width / 2, tip}, {bar.right(), y}}, kLineInk, kHairline});
}

}  // namespace

void put_bar(Sheet& sheet, const Shader& shader, Scale scale, const Box& beside, const std::string& label) {
  constexpr double kWidth = 9, kTip = 7, kLeastHeight = 72, kMostHeight = 330;
  const double height = sheet.dots(std::clamp(beside.height, kLeastHeight, kMostHeight));
  const double top = beside.height > height ? beside.y + sheet.dots((beside.height - height) / 2) : beside.y;
  Box bar{beside.right() + sheet.dots(14), top, sheet.dots(kWidth), height};
  if (shader.cut_above()) {
    bar.y += sheet.dots(kTip);
    bar.height -= sheet.dots(kTip);
  }
  if (shader.cut_below()) bar.height -= sheet.dots(kTip);
  Tiles steps{bar, 256, 1, std::vector<std::uint8_t>(256), {shader.map().begin(), shader.map().end()}};
  for (std::size_t i = 0; i < 256; ++i) steps.steps[i] = static_cast<std::uint8_t>(255 - i);
  sheet.add(std::move(steps));
  sheet.frame(bar);
  if (shader.cut_above()) put_tip(sheet, bar, bar.y, bar.y - kTip, shader.map().back());
  if (shader.cut_below()) put_tip(sheet, bar, bar.bottom(), bar.bottom() + kTip, shader.map().front());
  double widest = 0;
  constexpr double kPointsATick = 44;
  for (Tick& tick : shader.ticks(static_cast<int>(bar.height / kPointsATick) + 1)) {
    const double y = bar.bottom() - tick.place * bar.height;
    sheet.line({bar.right(), y}, {bar.right() + kAxisTick, y});
    widest = std::max(widest, sheet.typesetter().width(tick.text, {kTextSize - 1}));
    sheet.add(Writing{.at = {bar.right() + kAxisTick + 2.5, y}, .text = std::move(tick.text), .size = kTextSize - 1});
  }
  const std::string_view note = note_of(scale);
  std::string name = visible(label);
  if (!note.empty()) name += (name.empty() ? "" : " (") + std::string(note) + (name.empty() ? "" : ")");
  double x = bar.right() + kAxisTick + 2.5 + widest + 5 + kTextSize / 2;
  for (std::string& line : sheet.typesetter().lines(name, {kTextSize}, std::max(height, 120.0))) {
    sheet.add(Writing{.at = {x, top + height / 2}, .text = std::move(line), .anchor = Anchor::middle, .angle = 90});
    x += 1.3 * kTextSize;
  }
}

double cell_size(const Sheet& sheet, std::int64_t cells) {
  constexpr double kLargest = 38, kLabelled = 11.5, kWhole = 290, kWholeOfMany = 500;
  constexpr std::int64_t kMostLabelled = 44;
  const auto count = static_cast<double>(cells);
  return sheet.dots(cells <= kMostLabelled ? std::clamp(kWhole / count, kLabelled, kLargest) : kWholeOfMany / count);
}

Tiles tiles_of(const nn::Matrix& cells, const Shader& shader, const Box& box) {
  Tiles tiles{box, cells.rows(), cells.columns(), {}, {shader.map().begin(), shader.map().end()}};
  const auto count = static_cast<std::size_t>(cells.rows() * cells.columns());
  tiles.steps.resize(count);
  shader.steps({cells.data(), count}, tiles.steps.data());
  return tiles;
}

}  // namespace attn::figure
