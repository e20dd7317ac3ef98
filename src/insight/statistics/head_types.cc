#include "insight/statistics/head_types.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "engine/runtime/number_text.h"
#include "insight/statistics/check.h"

namespace attn::insight {

namespace {

// Clamped to [0, 1], because rows of a table from a file may sum to more than 1.
std::string two_digits(double share) { return number_text(std::clamp(share, 0.0, 1.0), std::chars_format::fixed, 2); }

bool is_resting(const HeadType& type) { return type.name == "sink" || type.name == "broad"; }

// Finds the types of one head.
class Namer {
 public:
  Namer(const HeadStatistics& head, std::optional<double> induction) : head_(head), induction_(induction) {}

  std::vector<HeadType> all() && {
    if (head_.name.kind == Kind::cross) {
      add_offset(0);
    } else {
      add_neighbour(-1, "previous token", "the token before");
      add_neighbour(1, "next token", "the next token");
      add_neighbour(0, "same token", "the token itself");
      add_offset(2);
    }
    if (types_.empty()) add_local();
    add_repeats();
    add_punctuation();
    add_resting();
    std::ranges::stable_sort(types_, std::ranges::greater(), &HeadType::score);
    return std::move(types_);
  }

 private:
  void add(const char* name, double score, double even, std::string reason) {
    score = std::clamp(score, 0.0, 1.0);
    types_.push_back({name, score, clearness(score, even), std::move(reason)});
  }
  void add_if_clear(const char* name, double share, double even, const std::string& what) {
    if (clearness(share, even) >= kClear)
      add(name, share, even, two_digits(share) + " of its attention goes to " + what);
  }

  void add_neighbour(std::int64_t offset, const char* name, const char* what) {
    add_if_clear(name, head_.shares.offset(offset), head_.even.offset(offset), what);
  }

  // The clearest offset of at least `least` tokens that half of the queries have.
  void add_offset(std::int64_t least) {
    std::optional<std::int64_t> best;
    for (std::int64_t o = -kFarthestOffset; o <= kFarthestOffset; ++o) {
      const std::int64_t pairs = pairs_at(o, head_.queries, head_.keys);
      if (std::abs(o) < least || pairs < 2 || 2 * pairs < head_.queries) continue;
      if (!best || head_.shares.offset(o) > head_.shares.offset(*best)) best = o;
    }
    if (!best) return;
    const std::string away = std::to_string(std::abs(*best)) + " tokens " + (*best < 0 ? "before" : "after");
    add_if_clear("positional offset", head_.shares.offset(*best), head_.even.offset(*best),
                 *best == 0 ? "the same position" : "the token " + away);
  }

  void add_local() {
    const double share = head_.shares.near, even = head_.even.near;
    if (clearness(share, even) < kClearlyLocal) return;
    add("local", share, even,
        two_digits(share) + " of its attention stays within " + std::to_string(kNear) +
            " tokens, where an even head has " + two_digits(even));
  }

  void add_repeats() {
    if (head_.duplicate_queries >= kLeastQueries) {
      add_if_clear("duplicate", head_.shares.duplicate, head_.even.duplicate, "earlier copies of the token");
    }
    if (induction_) {
      add_if_clear("induction", *induction_, 0,
                   "what followed the same token before, on random tokens that occur twice");
    } else if (head_.induction_queries >= kLeastQueries) {
      add_if_clear("induction", head_.shares.induction, head_.even.induction,
                   "what followed the same token earlier in the text");
    }
  }

  void add_punctuation() {
    add_if_clear("punctuation", head_.shares.punctuation, head_.even.punctuation,
                 "punctuation, which is " + two_digits(head_.even.punctuation) + " of what it may see");
  }

  void add_resting() {
    const Shares& shares = head_.shares;
    const std::string first = two_digits(shares.first) + " on the first token";
    const std::string separators = two_digits(shares.separators) + " on separators";
    if (clearness(shares.sink(), head_.even.sink()) >= kClear) {
      add("sink", shares.sink(), head_.even.sink(),
          two_digits(shares.sink()) + " of its attention rests on sinks: " +
              (shares.first >= shares.separators ? first + ", " + separators : separators + ", " + first));
    }
    if (head_.entropy_share >= kBroad) {
      add("broad", head_.entropy_share, 0,
          "looks everywhere: its entropy is " + two_digits(head_.entropy_share) + " of the largest");
    }
  }

  const HeadStatistics& head_;
  std::optional<double> induction_;
  std::vector<HeadType> types_;
};

// The mean row sum: less than 1 if queries see nothing or attend to a sink that has no key.
double attended_share(const HeadStatistics& head) {
  if (head.outgoing.empty()) return 1;  // a mean over texts
  const double sum = std::accumulate(head.outgoing.begin(), head.outgoing.end(), 0.0);
  const double mean = sum / static_cast<double>(head.outgoing.size());
  return mean > 1 - sum_bound(0) ? 1 : mean;
}

void rate(HeadReport& report) {
  const HeadStatistics& head = report.statistics;
  report.resting = !report.types.empty() && std::ranges::all_of(report.types, is_resting);
  report.interest = std::clamp((attended_share(head) - head.shares.sink()) * (1 - head.entropy_share), 0.0, 1.0);
  for (const HeadType& type : report.types) {
    if (!is_resting(type)) report.interest = std::max(report.interest, type.clear);
  }
}

}  // namespace

double clearness(double share, double even) noexcept {
  return share > even && even < 1 ? (share - even) / (1 - even) : 0;
}

std::string HeadReport::reason() const {
  const HeadType* clearest = nullptr;
  for (const HeadType& type : types) {
    if (!is_resting(type) && (clearest == nullptr || type.clear > clearest->clear)) clearest = &type;
  }
  if (clearest != nullptr) return clearest->reason;
  if (!types.empty()) return types.front().reason;
  if (attended_share(statistics) == 0) return "it attends to nothing";
  return "it has no single pattern, but its entropy is " + two_digits(statistics.entropy_share) +
         " of the largest, and " + two_digits(statistics.shares.sink()) + " rests on sinks";
}

std::vector<HeadReport> report(std::vector<HeadStatistics> heads, const nn::Matrix& induction) {
  std::vector<HeadReport> reports;
  for (HeadStatistics& head : heads) {
    std::optional<double> score;
    if (head.name.kind == Kind::self && head.name.layer < induction.rows() && head.name.head < induction.columns()) {
      score = induction.row(head.name.layer)[head.name.head];
    }
    HeadReport& made = reports.emplace_back();
    made.types = Namer(head, score).all();
    made.statistics = std::move(head);
    rate(made);
  }
  return reports;
}

std::vector<std::size_t> ranking(const std::vector<HeadReport>& reports) {
  std::vector<std::size_t> places(reports.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(places, [&](std::size_t a, std::size_t b) {
    if (reports[a].resting != reports[b].resting) return reports[b].resting;
    return reports[a].interest > reports[b].interest;
  });
  return places;
}

HeadsReport::HeadsReport(std::vector<HeadStatistics> statistics, const nn::Matrix& induction)
    : heads(report(std::move(statistics), induction)), ranking(insight::ranking(heads)) {}

}  // namespace attn::insight
