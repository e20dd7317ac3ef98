// attn/ranks.h - processes that work on one thing together, and all that is asked of them.
//
// attn/mpi.h has them as MPI starts them. Everything here but abandon() is called by one thread of each process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

// Sends and receives that are under way. What is sent must stay as it is until wait() has returned; what is received is
// there then. Between two ranks, parcels of one tag arrive in the order in which they were sent.
class Transfers {
 public:
  virtual ~Transfers() = default;
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  virtual void send(std::span<const std::byte> from, int to, int tag) = 0;
  virtual void receive(std::span<std::byte> to, int from, int tag) = 0;  // of just this size
  virtual void advance() = 0;  // gives them a chance to get on, and does not wait
  virtual void wait() = 0;     // until all are done

 protected:
  Transfers() = default;
};

// A message of any length.
struct Letter {
  int from = 0;
  std::string bytes;
};

class Ranks {
 public:
  virtual ~Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  [[nodiscard]] virtual int rank() const noexcept = 0;  // of this process, from 0
  [[nodiscard]] virtual int size() const noexcept = 0;

  [[nodiscard]] virtual std::unique_ptr<Transfers> transfers() = 0;

  // What every rank gives, to every rank, in their order. All ranks must call it.
  [[nodiscard]] virtual std::vector<std::string> gather(std::string_view mine) = 0;

  // Letters, to be found by poll() some time later; nobody waits. flush() returns when those that were posted here have
  // been taken.
  virtual void post(std::string bytes, int to) = 0;
  [[nodiscard]] virtual std::optional<Letter> poll() = 0;
  virtual void flush() = 0;

  // A number that all share: next() gives `first`, `first` + 1, ... and each to one rank only. All must call
  // start_counter(); whoever gets free calls next().
  virtual void start_counter(std::int64_t first) = 0;
  [[nodiscard]] virtual std::int64_t next() = 0;

  // Ends the processes of all ranks: for what went wrong on one of them where the others wait for it.
  [[noreturn]] virtual void abandon(int code) noexcept = 0;

 protected:
  Ranks() = default;
};

// One process and nobody else.
std::unique_ptr<Ranks> alone();

// Returns when all ranks have come so far.
void barrier(Ranks& ranks);

// Each number becomes its sum over the ranks, added in their order: the same bits on every rank and in every run. All
// must call it, with as many numbers.
void sum(Ranks& ranks, std::span<float> numbers);
void sum(Ranks& ranks, std::span<double> numbers);

// What went wrong somewhere.
struct Failure {
  std::string what;  // one line
  int code = 1;      // the exit code that it asks for
  int rank = 0;      // where
};

// The failure of the lowest rank that has one, on every rank; none: all are well. All must call it.
std::optional<Failure> first_failure(Ranks& ranks, const std::optional<Failure>& mine);

// "rank 2: no such file"; of rank 0 just "no such file".
std::string in_words(const Failure& failure);

// Runs work() and waits for the other ranks to have done so. Where it threw on some of them, std::runtime_error is
// thrown on all, with what the lowest of these said. work() must not wait for other ranks itself.
template <typename F>
void together(Ranks& ranks, const F& work) {
  std::optional<Failure> mine;
  try {
    work();
  } catch (const std::exception& problem) {
    mine = Failure{problem.what(), 1, ranks.rank()};
  }
  if (const std::optional<Failure> first = first_failure(ranks, mine)) throw std::runtime_error(in_words(*first));
}

}  // namespace attn
