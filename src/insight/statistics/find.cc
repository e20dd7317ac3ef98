#include "insight/statistics/find.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "base/parallel_for.h"
#include "insight/blocks/blocks.h"
#include "insight/blocks/picture.h"
#include "insight/statistics/baseline.h"
#include "insight/statistics/statistics.h"

namespace attn::insight {

namespace {

// ---- names ----

struct PatternName {
  std::string_view name;
  double (*similarity)(const HeadStatistics& head, std::int64_t offset);
};

using Head = const HeadStatistics&;
constexpr std::array<PatternName, 11> kNamed = {{
    {"previous", [](Head head, std::int64_t) { return head.shares.offset(-1); }},
    {"next", [](Head head, std::int64_t) { return head.shares.offset(1); }},
    {"same", [](Head head, std::int64_t) { return head.shares.offset(0); }},
    {"offset", [](Head head, std::int64_t offset) { return head.shares.offset(offset); }},
    {"first", [](Head head, std::int64_t) { return head.shares.first; }},
    {"separators", [](Head head, std::int64_t) { return head.shares.separators; }},
    {"punctuation", [](Head head, std::int64_t) { return head.shares.punctuation; }},
    {"duplicate", [](Head head, std::int64_t) { return head.shares.duplicate; }},
    {"induction", [](Head head, std::int64_t) { return head.shares.induction; }},
    {"local", [](Head head, std::int64_t) { return head.shares.near; }},
    {"broad", [](Head head, std::int64_t) { return head.entropy_share; }},
}};

std::vector<Similar> by_name(const AttentionTables& tables, const NamedPattern& pattern, const FindOptions& options,
                             ThreadPool& pool) {
  const auto named = std::ranges::find(kNamed, pattern.name, &PatternName::name);
  if (named == kNamed.end() || std::abs(pattern.offset) > kFarthestOffset) {
    throw std::invalid_argument("there is no pattern '" + pattern.name + "' with offset " +
                                std::to_string(pattern.offset));
  }
  std::vector<Similar> found;
  for (const HeadStatistics& head : statistics(tables, {.kind = options.kind, .progress = options.progress}, pool)) {
    found.push_back({head.name, std::clamp(named->similarity(head, pattern.offset), 0.0, 1.0)});
  }
  return found;
}

// ---- masks ----

// A bit per key j .. j + 63: set for keys in [from, to).
std::uint64_t inside(std::int64_t j, std::int64_t from, std::int64_t to) {
  const auto below = [](std::int64_t n) {
    return n <= 0 ? 0 : n >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
  };
  return below(to - j) & ~below(from - j);
}

double overlap_with_mask(const AttentionTables& tables, const HeadId& head, const Mask& mask) {
  const AttentionStack& all = tables.stack(head.kind);
  const VisibleKeys visible = visible_keys(tables, head);
  const auto bits = [&](std::int64_t i, std::int64_t j) {
    return mask.row(0, head.head, i, j) & inside(j, visible.from(i), visible.to(i));
  };
  std::vector<float> each(
      static_cast<std::size_t>(all.queries));  // the pattern's weight for each allowed key, per query
  std::int64_t rows = 0;
  for (std::int64_t i = 0; i < all.queries; ++i) {
    std::int64_t keys = 0;
    for (std::int64_t j = 0; j < all.keys; j += 64) keys += std::popcount(bits(i, j));
    if (keys > 0) each[static_cast<std::size_t>(i)] = 1 / static_cast<float>(keys);
    rows += keys > 0 ? 1 : 0;
  }
  if (rows == 0) throw std::invalid_argument("the mask allows no key that " + to_string(head) + " may see");
  double sum = 0;
  static_assert(kBlockColumns % 64 == 0);
  each_block(tables, head, [&](Rectangle at, View<const float, 2> block) {
    for (std::int64_t r = 0; r < block.shape[0]; ++r) {
      const float should = each[static_cast<std::size_t>(at.row + r)];
      if (should == 0) continue;
      float row = 0;
      for (std::int64_t j = 0; j < block.shape[1]; j += 64) {
        for (std::uint64_t left = bits(at.row + r, at.col + j); left != 0; left &= left - 1)
          row += std::min(should, block.at(r)[j + std::countr_zero(left)]);
      }
      sum += row;
    }
  });
  return sum / static_cast<double>(rows);
}

// ---- pictures ----

// Reduces to at most rows x columns cells, each the mean of the numbers it covers, then divides every row by its sum.
nn::Matrix as_shares(const nn::Matrix& from, std::int64_t rows, std::int64_t columns) {
  nn::Matrix out(std::min(rows, from.rows()), std::min(columns, from.columns()));
  for (std::int64_t r = 0; r < out.rows(); ++r) {
    double all = 0;
    for (std::int64_t c = 0; c < out.columns(); ++c) {
      double sum = 0;
      for (std::int64_t i = cell_start(r, out.rows(), from.rows()); i < cell_start(r + 1, out.rows(), from.rows()); ++i)
        for (std::int64_t j = cell_start(c, out.columns(), from.columns());
             j < cell_start(c + 1, out.columns(), from.columns()); ++j)
          sum += from.row(i)[j];
      out.row(r)[c] = static_cast<float>(sum);
      all += sum;
    }
    if (all > 0)
      for (std::int64_t c = 0; c < out.columns(); ++c) out.row(r)[c] /= static_cast<float>(all);
  }
  return out;
}

void check_picture(const nn::Matrix& picture) {
  if (picture.empty()) throw std::invalid_argument("the picture is empty");
  bool any = false;
  for (std::int64_t n = 0; n < picture.rows() * picture.columns(); ++n) {
    const float x = picture.data()[n];
    if (!std::isfinite(x) || x < 0) throw std::invalid_argument("a picture's numbers must be finite and not negative");
    any = any || x > 0;
  }
  if (!any) throw std::invalid_argument("the picture is all zeros");
}

// The cell that row or column i of `count` belongs to: the last one with cell_start() <= i.
std::int64_t cell_of(std::int64_t i, std::int64_t cells, std::int64_t count) { return ((i + 1) * cells - 1) / count; }

// The weights of a head, added up over the keys of a cell and averaged over its queries.
nn::Matrix mass_of(const AttentionTables& tables, const HeadId& head, std::int64_t rows, std::int64_t columns) {
  const AttentionStack& all = tables.stack(head.kind);
  nn::Matrix mass(rows, columns);
  std::fill_n(mass.data(), rows * columns, 0.0F);
  each_block(tables, head, [&](Rectangle at, View<const float, 2> block) {
    const std::int64_t end = at.col + block.shape[1];
    for (std::int64_t i = 0; i < block.shape[0]; ++i) {
      const std::int64_t r = cell_of(at.row + i, rows, all.queries);
      const auto height = static_cast<float>(cell_start(r + 1, rows, all.queries) - cell_start(r, rows, all.queries));
      const float* const p = block.at(i) - at.col;
      for (std::int64_t j = at.col; j < end;) {
        const std::int64_t c = cell_of(j, columns, all.keys);
        float sum = 0;
        for (const std::int64_t to = std::min(end, cell_start(c + 1, columns, all.keys)); j < to; ++j) sum += p[j];
        mass.row(r)[c] += sum / height;
      }
    }
  });
  return mass;
}

double overlap_with_picture(const AttentionTables& tables, const HeadId& head, const nn::Matrix& picture) {
  const AttentionStack& all = tables.stack(head.kind);
  const nn::Matrix wanted = as_shares(picture, all.queries, all.keys);
  const nn::Matrix mass = mass_of(tables, head, wanted.rows(), wanted.columns());
  double sum = 0;
  std::int64_t rows = 0;
  for (std::int64_t r = 0; r < wanted.rows(); ++r) {
    const float* const want = wanted.row(r);
    if (std::all_of(want, want + wanted.columns(), [](float x) { return x == 0; })) continue;
    ++rows;
    for (std::int64_t c = 0; c < wanted.columns(); ++c) sum += std::min(want[c], mass.row(r)[c]);
  }
  return sum / static_cast<double>(rows);
}

template <typename F>
std::vector<Similar> by_overlap(const AttentionTables& tables, const FindOptions& options, ThreadPool& pool,
                                const F& overlap) {
  std::vector<Similar> found;
  for (const HeadId& head : tables.heads()) {
    if (!options.kind || *options.kind == head.kind) found.push_back({head, 0});
  }
  base::parallel_for(std::ssize(found), options.progress, pool, [&](std::int64_t n) {
    Similar& one = found[static_cast<std::size_t>(n)];
    one.similarity = std::clamp(overlap(one.head), 0.0, 1.0);
  });
  return found;
}

}  // namespace

std::optional<NamedPattern> parse_pattern(std::string_view text) {
  if (text.starts_with("offset(") && text.ends_with(")")) {
    const std::string_view number = text.substr(7, text.size() - 8);
    std::int64_t offset = 0;
    const auto [stop, problem] = std::from_chars(number.data(), number.data() + number.size(), offset);
    if (problem != std::errc() || stop != number.data() + number.size() || std::abs(offset) > kFarthestOffset)
      throw std::invalid_argument("offset(o) takes a whole number from -16 to 16, not '" + std::string(number) + "'");
    return NamedPattern{"offset", offset};
  }
  const bool known = text != "offset" && std::ranges::find(kNamed, text, &PatternName::name) != kNamed.end();
  return known ? std::optional(NamedPattern{std::string(text), 0}) : std::nullopt;
}

std::vector<std::string_view> pattern_names() {
  std::vector<std::string_view> names;
  for (const PatternName& named : kNamed) names.push_back(named.name == "offset" ? "offset(-3)" : named.name);
  return names;
}

Pattern parse_name_or_mask(const std::string& text) {
  if (auto named = parse_pattern(text)) return *std::move(named);
  try {
    return parse_mask(text);
  } catch (const std::invalid_argument& wrong) {
    std::string names;
    for (const std::string_view name : pattern_names()) names += (names.empty() ? "" : ", ") + std::string(name);
    const std::string what = wrong.what();  // further lines point at the mistake in the mask
    throw std::invalid_argument("'" + text + "' is neither a name (" + names +
                                "), nor a mask: " + what.substr(0, what.find('\n')));
  }
}

std::string to_string(const Pattern& pattern) {
  if (const auto* name = std::get_if<NamedPattern>(&pattern))
    return name->name == "offset" ? "offset(" + std::to_string(name->offset) + ")" : name->name;
  if (const auto* mask = std::get_if<Mask>(&pattern)) return mask->text();
  const nn::Matrix& picture = std::get<nn::Matrix>(pattern);
  return "a picture of " + std::to_string(picture.rows()) + " x " + std::to_string(picture.columns());
}

std::vector<Similar> find_heads(const AttentionTables& tables, const Pattern& pattern, const FindOptions& options,
                                ThreadPool& pool) {
  if (options.kind) static_cast<void>(tables.stack(*options.kind));
  std::vector<Similar> found;
  if (const auto* name = std::get_if<NamedPattern>(&pattern)) {
    found = by_name(tables, *name, options, pool);
  } else if (const auto* mask = std::get_if<Mask>(&pattern)) {
    for (const AttentionStack& stack : tables.stacks()) {
      if (!options.kind || *options.kind == stack.kind) mask->check({1, stack.heads, stack.queries, stack.keys});
    }
    found =
        by_overlap(tables, options, pool, [&](const HeadId& head) { return overlap_with_mask(tables, head, *mask); });
  } else {
    const nn::Matrix& picture = std::get<nn::Matrix>(pattern);
    check_picture(picture);
    found = by_overlap(tables, options, pool,
                       [&](const HeadId& head) { return overlap_with_picture(tables, head, picture); });
  }
  std::ranges::stable_sort(found, std::ranges::greater(), &Similar::similarity);
  return found;
}

}  // namespace attn::insight
