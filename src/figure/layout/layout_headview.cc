#include <algorithm>
#include <cmath>
#include <tuple>

#include "engine/runtime/number_text.h"
#include "figure/layout/axes.h"
#include "figure/layout/layout.h"
#include "figure/scene/label.h"

namespace attn::figure {

namespace {

// One drawn weight.
struct Beam {
  std::int64_t head, query, key;
  float weight;
};

struct Beams {
  std::vector<Beam> drawn;  // lightest first, so that large weights are on top
  double hidden = 0;        // share of the attention that is not drawn
};

Beams beams_of(const HeadView& view) {
  Beams beams;
  double all = 0, hidden = 0;
  for (std::int64_t h = 0; h < std::ssize(view.heads); ++h) {
    const nn::Matrix& weights = view.heads[static_cast<std::size_t>(h)].weights;
    for (std::int64_t i = 0; i < weights.rows(); ++i) {
      for (std::int64_t j = 0; j < weights.columns(); ++j) {
        const float weight = weights.row(i)[j];
        all += weight;
        if (weight <= 0) continue;
        if (weight < view.threshold) {
          hidden += weight;
        } else {
          beams.drawn.push_back({h, i, j, weight});
        }
      }
    }
  }
  // Compares all members, so that equal weights have the same order everywhere.
  std::ranges::sort(beams.drawn, {}, [](const Beam& b) { return std::tuple(b.weight, b.head, b.query, b.key); });
  if (all > 0) beams.hidden = hidden / all;
  return beams;
}

std::string hidden_note(const HeadView& view, double hidden) {
  if (hidden == 0) return "";
  const std::string share =
      hidden < 0.0005 ? "less than 0.1%" : number_text(100 * hidden, std::chars_format::fixed, 1) + "%";
  return "Weights below " + short_text(view.threshold) + " are not drawn; they hold " + share + " of the attention.";
}

double pitch_of(std::int64_t tokens) {
  constexpr std::int64_t kFew = 48, kMany = 120;
  if (tokens <= kFew) return 13;
  return tokens <= kMany ? 9 : std::max(1.0, 1080 / static_cast<double>(tokens));
}

class HeadViewDrawing {
 public:
  HeadViewDrawing(Sheet& sheet, const HeadView& view) : sheet_(sheet), view_(view) {
    const std::int64_t tokens = std::max(std::ssize(view.queries), std::ssize(view.keys));
    pitch_ = pitch_of(tokens);
    height_ = pitch_ * static_cast<double>(tokens);
    width_ = std::clamp(height_, 150.0, 280.0);
  }

  void put_beams(const std::vector<Beam>& beams) {
    // Heads are side by side in a band around the middle of the token, so that none hides another.
    const auto heads = static_cast<double>(view_.heads.size());
    const double between = heads > 1 ? std::min(0.45 * pitch_ / heads, 2.0) : 0;
    for (const Beam& beam : beams) {
      const HeadStyle style = head_style(beam.head);
      const double off = (static_cast<double>(beam.head) - (heads - 1) / 2) * between;
      // A weight of 0.3 is half opaque, for any number of heads.
      const double weight = std::min(double{beam.weight}, 1.0);
      sheet_.add(Stroke{.points = {{0, middle(beam.query) + off}, {width_, middle(beam.key) + off}},
                        .colour = style.colour,
                        .width = 0.5 + 1.6 * weight,
                        .opacity = std::pow(weight, 0.55),
                        .dash = style.dash});
    }
  }

  std::string put_tokens() {
    const Labels queries = fit_labels(sheet_, view_.queries, pitch_, Side::rows);
    const Labels keys = fit_labels(sheet_, view_.keys, pitch_, Side::rows);
    put_column(queries, -4, Anchor::end);
    put_column(keys, width_ + 4, Anchor::start);
    const std::string left = visible(view_.query_label), right = visible(view_.key_label);
    sheet_.add(Writing{.at = {-4, -9}, .text = left, .size = 8, .anchor = Anchor::end, .colour = kQuietInk});
    sheet_.add(Writing{.at = {width_ + 4, -9}, .text = right, .size = 8, .colour = kQuietInk});
    return thinning_note(queries.every > keys.every ? queries : keys, "token");
  }

  // The legend at the right, in as many columns as the height requires.
  void put_legend() {
    constexpr double kRow = 13, kLine = 16;
    const auto rows = static_cast<std::int64_t>(std::max(12.0, height_ / kRow));
    double left = sheet_.extent().right() + 18, right = left;
    for (std::int64_t h = 0; h < std::ssize(view_.heads); ++h) {
      if (h > 0 && h % rows == 0) left = right + 12;
      const double y = (static_cast<double>(h % rows) + 0.5) * kRow;
      const HeadStyle style = head_style(h);
      const std::string name =
          sheet_.typesetter().fitted(visible(view_.heads[static_cast<std::size_t>(h)].name), {8}, 120);
      sheet_.add(
          Stroke{.points = {{left, y}, {left + kLine, y}}, .colour = style.colour, .width = 1.8, .dash = style.dash});
      sheet_.add(Writing{.at = {left + kLine + 5, y}, .text = name, .size = 8});
      right = std::max(right, left + kLine + 5 + sheet_.typesetter().width(name, {8}));
    }
  }

 private:
  [[nodiscard]] double middle(std::int64_t token) const { return (static_cast<double>(token) + 0.5) * pitch_; }

  void put_column(const Labels& labels, double x, Anchor anchor) {
    for (std::size_t i = 0; i < labels.texts.size(); ++i) {
      const double y = middle(static_cast<std::int64_t>(i) * labels.every);
      sheet_.add(Writing{.at = {x, y}, .text = labels.texts[i], .size = labels.size, .anchor = anchor});
    }
  }

  Sheet& sheet_;
  const HeadView& view_;
  double pitch_ = 0, height_ = 0, width_ = 0;
};

}  // namespace

Scene lay_out_headview(const HeadView& view) {
  Sheet sheet;
  HeadViewDrawing drawn(sheet, view);
  const Beams beams = beams_of(view);
  drawn.put_beams(beams.drawn);
  const std::string thinning = drawn.put_tokens();
  drawn.put_legend();
  return sheet.finish(
      {view.title, joined({view.caption, hidden_note(view, beams.hidden), thinning}), sheet.extent().x});
}

}  // namespace attn::figure
