// apps/cli/options/ranks.h - the processes that mpirun or a batch system has started, if any.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "apps/cli/command.h"
#include "attn/ranks.h"

namespace attn::cli {

// What the launcher puts into the environment, known before any MPI library is loaded.
struct Launched {
  int rank = 0, size = 1;
  int beside = 1;      // ranks on this machine
  std::string module;  // MPI library whose launcher it was; empty: unknown

  static Launched by_environment();
  [[nodiscard]] bool several() const noexcept { return size > 1; }
};

// Default number of threads of a rank: the cores it is bound to, else its part of the machine's cores.
int fair_threads();

// Under mpirun, makes commands that cannot use several processes throw UsageError.
void refuse_several(CLI::App& app);

// The ranks of MPI's world, or this process alone if only one was launched. The destructor finalises MPI.
class World {
 public:
  explicit World(const Launched& launched);  // throws std::runtime_error if this build lacks that MPI
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] Ranks& ranks() noexcept { return *ranks_; }
  // The exit code to use if MPI hangs while it finalises.
  void will_end_with(int code) noexcept { code_ = code; }

 private:
  struct Module;
  std::unique_ptr<Module> module_;
  std::unique_ptr<Ranks> own_;
  Ranks* ranks_ = nullptr;
  int code_ = 0;
};

// An error on some rank that all ranks know of: all end, and rank 0 prints it.
class FailedTogether : public std::runtime_error {
 public:
  FailedTogether(const std::string& what, int exit_code) : std::runtime_error(what), code(exit_code) {}
  int code;
};

// For the user: "not enough memory" instead of "std::bad_alloc".
std::string words_of(const std::exception& problem);

// Runs work() on all ranks and waits for the others. If it throws on any rank, all ranks throw FailedTogether. work()
// must not wait for other ranks itself, unless it throws on all of them or on none. With a single process, exceptions
// pass through unchanged.
template <typename F>
auto on_all(Ranks& ranks, const F& work) {
  using Result = decltype(work());
  if (ranks.size() == 1) return work();
  std::optional<Failure> mine;
  const auto note = [&](const std::string& what, int code) { mine = Failure{what, code, ranks.rank()}; };
  const auto agree = [&] {
    if (const std::optional<Failure> first = first_failure(ranks, mine)) {
      throw FailedTogether(in_words(*first), first->code);
    }
  };
  const auto tried = [&](const auto& call) {
    try {
      call();
    } catch (const UsageError& problem) {
      note(problem.what(), 2);
    } catch (const Interrupted& stop) {
      note(stop.words.empty() ? "interrupted" : stop.words, 130);
    } catch (const std::exception& problem) {
      note(words_of(problem), 1);
    }
  };
  if constexpr (std::is_void_v<Result>) {
    tried(work);
    agree();
  } else {
    std::optional<Result> result;
    tried([&] { result.emplace(work()); });
    agree();
    return std::move(*result);  // NOLINT(bugprone-unchecked-optional-access): where there is none, agree() has thrown
  }
}

}  // namespace attn::cli
