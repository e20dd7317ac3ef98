// engine/ring/ranks.cc - a single rank, and the collective operations that need no particular transport.
#include "attn/ranks.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <utility>

namespace attn {
namespace {

class NoTransfers final : public Transfers {
 public:
  void send(std::span<const std::byte>, int, int) override { fail(); }
  void receive(std::span<std::byte>, int, int) override { fail(); }
  void advance() override {}
  void wait() override {}

 private:
  [[noreturn]] static void fail() { throw std::logic_error("there is no other rank to send to or receive from"); }
};

class Alone final : public Ranks {
 public:
  [[nodiscard]] int rank() const noexcept override { return 0; }
  [[nodiscard]] int size() const noexcept override { return 1; }
  [[nodiscard]] std::unique_ptr<Transfers> transfers() override { return std::make_unique<NoTransfers>(); }
  [[nodiscard]] std::vector<std::string> gather(std::string_view mine) override { return {std::string(mine)}; }
  void post(std::string bytes, int) override { letters_.push_back({0, std::move(bytes)}); }
  [[nodiscard]] std::optional<Letter> poll() override {
    if (letters_.empty()) return std::nullopt;
    std::optional<Letter> first = std::move(letters_.front());
    letters_.pop_front();
    return first;
  }
  void flush() override {}
  void start_counter(std::int64_t first) override { next_ = first; }
  [[nodiscard]] std::int64_t next() override { return next_++; }
  [[noreturn]] void abandon(int code) noexcept override { std::_Exit(code); }

 private:
  std::deque<Letter> letters_;
  std::int64_t next_ = 0;
};

constexpr int kParts = 0, kSums = 1;  // tags

// Rank r sums part r of the numbers and sends the sums to all others.
template <typename T>
void sum_in_order(Ranks& ranks, std::span<T> numbers) {
  const auto size = static_cast<std::size_t>(ranks.size()), me = static_cast<std::size_t>(ranks.rank());
  if (size == 1 || numbers.empty()) return;
  const auto part = [&](std::size_t r) {
    const std::size_t begin = numbers.size() * r / size, end = numbers.size() * (r + 1) / size;
    return numbers.subspan(begin, end - begin);
  };
  const std::span<T> mine = part(me);
  std::vector<T> others(mine.size() * size);
  const auto of_rank = [&](std::size_t r) { return std::span(others).subspan(r * mine.size(), mine.size()); };

  const std::unique_ptr<Transfers> under_way = ranks.transfers();
  for (std::size_t r = 0; r < size; ++r) {
    if (r == me) continue;
    if (!mine.empty()) under_way->receive(std::as_writable_bytes(of_rank(r)), static_cast<int>(r), kParts);
    if (!part(r).empty()) under_way->send(std::as_bytes(part(r)), static_cast<int>(r), kParts);
  }
  std::ranges::copy(mine, of_rank(me).begin());
  under_way->wait();
  std::ranges::copy(of_rank(0), mine.begin());
  for (std::size_t r = 1; r < size; ++r) {
    const std::span<const T> more = of_rank(r);
    for (std::size_t n = 0; n < mine.size(); ++n) mine[n] += more[n];
  }
  for (std::size_t r = 0; r < size; ++r) {
    if (r == me) continue;
    if (!part(r).empty()) under_way->receive(std::as_writable_bytes(part(r)), static_cast<int>(r), kSums);
    if (!mine.empty()) under_way->send(std::as_bytes(mine), static_cast<int>(r), kSums);
  }
  under_way->wait();
}

}  // namespace

std::unique_ptr<Ranks> alone() { return std::make_unique<Alone>(); }

void barrier(Ranks& ranks) { static_cast<void>(ranks.gather({})); }

void sum(Ranks& ranks, std::span<float> numbers) { sum_in_order(ranks, numbers); }
void sum(Ranks& ranks, std::span<double> numbers) { sum_in_order(ranks, numbers); }

std::optional<Failure> first_failure(Ranks& ranks, const std::optional<Failure>& mine) {
  std::string bytes;
  if (mine) {
    bytes.resize(sizeof mine->code);
    std::memcpy(bytes.data(), &mine->code, sizeof mine->code);
    bytes += mine->what;
  }
  const std::vector<std::string> all = ranks.gather(bytes);
  const auto found = std::ranges::find_if(all, [](const std::string& said) { return !said.empty(); });
  if (found == all.end()) return std::nullopt;
  Failure first{found->substr(sizeof first.code), 1, static_cast<int>(found - all.begin())};
  std::memcpy(&first.code, found->data(), sizeof first.code);
  return first;
}

std::string in_words(const Failure& failure) {
  return failure.rank == 0 ? failure.what : "rank " + std::to_string(failure.rank) + ": " + failure.what;
}

}  // namespace attn
