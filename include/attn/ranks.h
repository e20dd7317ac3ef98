// attn/ranks.h - several processes that work on one problem: the messages and collective operations that they need.
//
// mpi.h implements Ranks with MPI. Except for abandon(), only one thread of each process may call these functions. An
// operation is collective if every rank must call it, in the same order.
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

// A set of nonblocking sends and receives. Their buffers must stay untouched until wait() returns; received bytes are
// then in place. Between two ranks, messages of one tag arrive in the order in which they were sent.
class Transfers {
 public:
  virtual ~Transfers() = default;
  Transfers(const Transfers&) = delete;
  Transfers& operator=(const Transfers&) = delete;

  virtual void send(std::span<const std::byte> from, int to, int tag) = 0;
  virtual void receive(std::span<std::byte> to, int from, int tag) = 0;  // the message must have exactly this size
  virtual void advance() = 0;  // lets the transfers make progress without blocking
  virtual void wait() = 0;     // blocks until all of them are complete

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

  // Collective. Returns what every rank passed, in rank order, on every rank.
  [[nodiscard]] virtual std::vector<std::string> gather(std::string_view mine) = 0;

  // Asynchronous messages. post() returns at once; poll() on the other rank finds the letter some time later, or
  // returns nothing. flush() blocks until every letter posted here has been received.
  virtual void post(std::string bytes, int to) = 0;
  [[nodiscard]] virtual std::optional<Letter> poll() = 0;
  virtual void flush() = 0;

  // A counter shared by all ranks: next() returns `first`, `first` + 1, ..., each to one rank only. start_counter() is
  // collective; a rank calls next() whenever it is free for more work.
  virtual void start_counter(std::int64_t first) = 0;
  [[nodiscard]] virtual std::int64_t next() = 0;

  // Terminates the processes of all ranks with this exit code: for a failure on one rank that others would wait for
  // forever. Any thread may call it.
  [[noreturn]] virtual void abandon(int code) noexcept = 0;

 protected:
  Ranks() = default;
};

// A single process: rank 0 of 1.
std::unique_ptr<Ranks> alone();

// Collective. Returns when every rank has called it.
void barrier(Ranks& ranks);

// Collective. Replaces each number by its sum over the ranks, added in rank order: the same bits on every rank and in
// every run. Every rank must pass the same count of numbers.
void sum(Ranks& ranks, std::span<float> numbers);
void sum(Ranks& ranks, std::span<double> numbers);

// A failure on one rank.
struct Failure {
  std::string what;  // one line
  int code = 1;      // the exit code for it
  int rank = 0;      // the rank that failed
};

// Collective. Returns the failure of the lowest rank that has one, on every rank; nothing if no rank failed.
std::optional<Failure> first_failure(Ranks& ranks, const std::optional<Failure>& mine);

// "rank 2: no such file"; for rank 0 just "no such file".
std::string in_words(const Failure& failure);

// Collective. Runs work() and waits until the other ranks have run theirs. If it threw on some of them, throws
// std::runtime_error on all, with the message of the lowest such rank. work() must not itself wait for other ranks.
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
