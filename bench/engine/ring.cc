// bench/engine/ring.cc - ring attention, one thread per rank, against one process with two threads: 2 heads, D = 64.
//
//   bench_ring_LIBRARY time TOKENS ROUNDS    both in turn; masks full and causal, forward and backward
//   bench_ring_LIBRARY memory TOKENS         growth of a rank's peak resident size, causal, 4 heads
//   bench_ring_LIBRARY hops                  latency of a message from one rank to another
//
// Rank 0 prints JSON.

#include "attn/ring.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "attn/backward.h"
#include "attn/mpi.h"
#include "attn/thread_pool.h"
#include "bench/engine/problem.h"

namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::int64_t kHeads = 2, kHeadsOfMemory = 4, kWidth = 64;
constexpr int kThreads = 2;  // of the one process

double now() { return Seconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double cpu_seconds_of_process() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Busy seconds of all cores of this machine, whatever the process.
double busy_seconds() {
  std::ifstream stat("/proc/stat");
  std::string name;
  stat >> name;
  double busy = 0, ticks = 0;
  constexpr int kIdle = 3, kWaitsForDisk = 4, kColumns = 8;
  for (int column = 0; column < kColumns && stat >> ticks; ++column) {
    if (column != kIdle && column != kWaitsForDisk) busy += ticks;
  }
  return busy / 100;  // Linux reports 100 ticks per second, whatever its own clock
}

double peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return 1024 * std::atof(line.c_str() + 6);
  }
  throw std::runtime_error("/proc/self/status does not say VmHWM");
}

// Every rank's number, on every rank.
std::vector<double> numbers_of_all(attn::Ranks& ranks, double mine) {
  std::vector<double> all(static_cast<std::size_t>(ranks.size()), 0.0);
  all[static_cast<std::size_t>(ranks.rank())] = mine;
  attn::sum(ranks, std::span(all));
  return all;
}
double most(attn::Ranks& ranks, double mine) { return std::ranges::max(numbers_of_all(ranks, mine)); }
double total(attn::Ranks& ranks, double mine) {
  double numbers[] = {mine};
  attn::sum(ranks, std::span(numbers));
  return numbers[0];
}

// Rank 0 works while the others sleep: MPI's own wait would keep their cores busy.
template <typename F>
void only_rank_0(attn::Ranks& ranks, const F& work) {
  if (ranks.rank() != 0) {
    while (!ranks.poll()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return;
  }
  work();
  for (int rank = 1; rank < ranks.size(); ++rank) ranks.post("done", rank);
  ranks.flush();
}

// A problem and its gradients.
struct Both {
  explicit Both(const attn::Shape<4>& bhnd)
      : problem(bhnd), d_out(problem.v), dq(d_out.size()), dk(d_out.size()), dv(d_out.size()) {}

  [[nodiscard]] attn::View<const float, 4> view(const std::vector<float>& x) const { return {x.data(), problem.shape}; }
  [[nodiscard]] attn::Inputs in() const { return {view(problem.q), view(problem.k), view(problem.v)}; }
  [[nodiscard]] attn::View<float, 4> out() { return {problem.out.data(), problem.shape}; }
  [[nodiscard]] attn::View<float, 3> lse() {
    return {problem.lse.data(), {problem.shape[0], problem.shape[1], problem.shape[2]}};
  }
  [[nodiscard]] attn::Outputs outputs() { return {view(problem.out), lse(), view(d_out)}; }
  [[nodiscard]] attn::Gradients gradients() {
    return {{dq.data(), problem.shape}, {dk.data(), problem.shape}, {dv.data(), problem.shape}, {}, {}};
  }

  bench::Problem problem;
  std::vector<float> d_out, dq, dk, dv;
};

// A rank's rows of [1, H, N, D], in the order of ring_attention().
std::vector<float> rows_of(const std::vector<float>& whole, const attn::RingSplit& split, int rank) {
  std::vector<float> rows;
  const auto heads = std::ssize(whole) / (split.length() * kWidth);
  for (std::int64_t h = 0; h < heads; ++h) {
    for (const attn::Stretch& half : split.of(rank)) {
      const auto head = whole.begin() + h * split.length() * kWidth;
      rows.insert(rows.end(), head + half.begin * kWidth, head + half.end * kWidth);
    }
  }
  return rows;
}

double difference(const std::vector<float>& a, const std::vector<float>& b) {
  double worst = 0;
  for (std::size_t n = 0; n < a.size(); ++n) {
    const double off = std::abs(static_cast<double>(a[n]) - b[n]);
    worst = off <= worst ? worst : off;  // NaN is not less
  }
  return worst;
}

struct Round {
  double one = 0, one_cpu = 0;              // seconds of the one process
  double ring = 0, ring_cpu = 0;            // seconds of the slowest rank; CPU seconds of all ranks
  double waiting = 0;                       // the largest share of its time that a rank waits
  double bytes = 0, sent = 0, skipped = 0;  // of all ranks
  double others = 0;                        // share of this machine that other processes took
};

// One mask, forward and backward, by the one process and by the ring.
class Race {
 public:
  Race(attn::Ranks& ranks, std::int64_t tokens, const attn::Mask& mask)
      : ranks_(ranks),
        split_(tokens, ranks.size()),
        whole_({1, kHeads, tokens, kWidth}),
        part_({1, kHeads, split_.size(ranks.rank()), kWidth}) {
    options_.mask = mask;
    const bench::Problem& all = whole_.problem;
    part_.problem.q = rows_of(all.q, split_, ranks.rank());
    part_.problem.k = rows_of(all.k, split_, ranks.rank());
    part_.problem.v = rows_of(all.v, split_, ranks.rank());
    part_.d_out = part_.problem.v;
    run(false, false);
    run(true, false);
    check();
  }

  Round run(bool backward, bool ring_first) {
    Round round;
    const double start = now(), busy = busy_seconds(), cpu = cpu_seconds_of_process();
    for (const bool ring : {ring_first, !ring_first}) {
      ring ? run_ring(backward, round) : run_one(backward, round);
    }
    const double ours = total(ranks_, cpu_seconds_of_process() - cpu);
    round.others = std::max(0.0, (busy_seconds() - busy - ours) /
                                     ((now() - start) * static_cast<double>(std::thread::hardware_concurrency())));
    return round;
  }

 private:
  void run_one(bool backward, Round& round) {
    only_rank_0(ranks_, [&] {
      const double start = now(), cpu = cpu_seconds_of_process();
      if (backward) {
        attn::attention_backward(whole_.in(), options_, whole_.outputs(), whole_.gradients(), two_);
      } else {
        whole_.problem.attend(options_, two_);
      }
      round.one = now() - start;
      round.one_cpu = cpu_seconds_of_process() - cpu;
    });
  }

  void run_ring(bool backward, Round& round) {
    attn::barrier(ranks_);
    const attn::Ring ring{ranks_, split_.length(), split_.length()};
    const double cpu = cpu_seconds_of_process();
    const attn::RingReport report =
        backward ? attn::ring_attention_backward(part_.in(), options_, ring, part_.outputs(), part_.gradients(), one_)
                 : attn::ring_attention(part_.in(), options_, ring, part_.out(), part_.lse(), one_);
    round.ring_cpu = total(ranks_, cpu_seconds_of_process() - cpu);
    round.ring = most(ranks_, report.seconds);
    round.waiting = most(ranks_, report.waiting / report.seconds);
    round.bytes = total(ranks_, static_cast<double>(report.bytes));
    round.sent = total(ranks_, static_cast<double>(report.sent));
    round.skipped = total(ranks_, static_cast<double>(report.skipped));
  }

  // Correctness before speed: rank 0 has the whole problem.
  void check() {
    double worst = 0;
    if (ranks_.rank() == 0) {
      const auto off = [&](const std::vector<float>& mine, const std::vector<float>& all) {
        worst = std::max(worst, difference(mine, rows_of(all, split_, 0)));
      };
      off(part_.problem.out, whole_.problem.out);
      off(part_.dq, whole_.dq);
      off(part_.dk, whole_.dk);
      off(part_.dv, whole_.dv);
    }
    worst = total(ranks_, worst);
    if (!(worst < 1e-4)) throw std::runtime_error("the ring's result is off by " + std::to_string(worst));
  }

  attn::Ranks& ranks_;
  attn::RingSplit split_;
  attn::Options options_;
  Both whole_, part_;
  attn::ThreadPool one_{1}, two_{kThreads};
};

void print(const Round& r, const char* separator) {
  std::printf(
      "%s\n    {\"one_s\": %.6f, \"one_cpu_s\": %.6f, \"ring_s\": %.6f, \"ring_cpu_s\": %.6f, \"waiting\": %.5f, "
      "\"bytes\": %.0f, \"sent\": %.0f, \"skipped\": %.0f, \"others\": %.4f}",
      separator, r.one, r.one_cpu, r.ring, r.ring_cpu, r.waiting, r.bytes, r.sent, r.skipped, r.others);
}

void measure_time(attn::Ranks& ranks, std::int64_t tokens, int rounds) {
  const bool speaks = ranks.rank() == 0;
  if (speaks)
    std::printf("{\"ranks\": %d, \"tokens\": %lld, \"races\": [", ranks.size(), static_cast<long long>(tokens));
  const char* next_race = "";
  for (const char* mask : {"full", "causal"}) {
    const bool causal = std::string(mask) == "causal";
    Race race(ranks, tokens, causal ? attn::Mask(attn::Causal{}) : attn::Mask());
    std::vector<Round> forward, backward;
    for (int n = 0; n < rounds; ++n) {
      forward.push_back(race.run(false, n % 2 == 1));
      backward.push_back(race.run(true, n % 2 == 1));
    }
    for (const auto* all : {&forward, &backward}) {
      if (!speaks) continue;
      std::printf("%s\n  {\"mask\": \"%s\", \"pass\": \"%s\", \"rounds\": [", next_race, mask,
                  all == &forward ? "forward" : "backward");
      next_race = ",";
      const char* next_round = "";
      for (const Round& round : *all) {
        print(round, next_round);
        next_round = ",";
      }
      std::printf("]}");
    }
  }
  if (speaks) std::printf("\n]}\n");
}

void measure_memory(attn::Ranks& ranks, std::int64_t tokens) {
  const double before = peak_memory();
  const attn::RingSplit split(tokens, ranks.size());
  const attn::Shape<4> shape{1, kHeadsOfMemory, split.size(ranks.rank()), kWidth};
  attn::ThreadPool pool(1);
  bench::Problem part(shape);
  attn::Options options;
  options.mask = attn::Causal{};
  const auto view = [&](const std::vector<float>& x) { return attn::View<const float, 4>(x.data(), shape); };
  attn::ring_attention({view(part.q), view(part.k), view(part.v)}, options, {ranks, tokens, tokens},
                       {part.out.data(), shape}, {part.lse.data(), {shape[0], shape[1], shape[2]}}, pool);
  const double grown = most(ranks, peak_memory() - before);
  if (ranks.rank() == 0) std::printf("{\"ranks\": %d, \"bytes\": %.0f}\n", ranks.size(), grown);
}

// Median of half a round trip.
double hop_seconds(attn::Ranks& ranks, std::int64_t bytes, int rounds) {
  std::vector<std::byte> parcel(static_cast<std::size_t>(bytes));
  const std::unique_ptr<attn::Transfers> way = ranks.transfers();
  std::vector<double> took;
  for (int n = 0; n < rounds; ++n) {
    attn::barrier(ranks);
    const double start = now();
    for (const int sender : {0, 1}) {
      if (ranks.rank() > 1) continue;
      ranks.rank() == sender ? way->send(parcel, 1 - sender, 0) : way->receive(parcel, sender, 0);
      way->wait();
    }
    took.push_back((now() - start) / 2);
  }
  std::ranges::sort(took);
  return took[took.size() / 2];
}

void measure_hops(attn::Ranks& ranks) {
  if (ranks.size() < 2) throw std::invalid_argument("a hop needs two ranks");
  const char* separator = "{\"hops\": [";
  for (std::int64_t bytes = 1024; bytes <= std::int64_t{64} << 20; bytes *= 4) {
    const double seconds = hop_seconds(ranks, bytes, bytes < (1 << 20) ? 201 : 21);
    if (ranks.rank() == 0) {
      std::printf("%s\n  {\"bytes\": %lld, \"seconds\": %.9f}", separator, static_cast<long long>(bytes), seconds);
    }
    separator = ",";
  }
  if (ranks.rank() == 0) std::printf("\n]}\n");
}

void measure(attn::Ranks& ranks, std::span<char*> arguments) {
  const std::string what = arguments.empty() ? "" : arguments[0];
  const auto number = [&](std::size_t n) { return std::atoll(arguments[n]); };
  if (what == "time" && arguments.size() == 3) return measure_time(ranks, number(1), static_cast<int>(number(2)));
  if (what == "memory" && arguments.size() == 2) return measure_memory(ranks, number(1));
  if (what == "hops" && arguments.size() == 1) return measure_hops(ranks);
  throw std::invalid_argument("usage: time TOKENS ROUNDS | memory TOKENS | hops");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  {
    const std::unique_ptr<attn::Ranks> ranks = attn::mpi_ranks(MPI_COMM_WORLD);
    try {
      measure(*ranks, std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
    } catch (const std::exception& problem) {
      std::fprintf(stderr, "bench_ring: rank %d: %s\n", ranks->rank(), problem.what());
      ranks->abandon(1);
    }
  }
  MPI_Finalize();
}
