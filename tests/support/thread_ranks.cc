#include "tests/support/thread_ranks.h"

#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>
#include <utility>

namespace attn::test {
namespace {

struct Broken : std::runtime_error {
  Broken() : std::runtime_error("another rank has failed") {}
};

// The state shared by the threads.
class World {
 public:
  explicit World(int ranks) : size(ranks), parts_(static_cast<std::size_t>(ranks)) {}

  using Route = std::tuple<int, int, int>;  // from, to, tag

  void put(const Route& route, std::string bytes) {
    const std::scoped_lock lock(mutex_);
    parcels_[route].push_back(std::move(bytes));
    changed_.notify_all();
  }
  std::string take(const Route& route) {
    std::unique_lock lock(mutex_);
    wait(lock, [&] { return !parcels_[route].empty(); });
    std::string bytes = std::move(parcels_[route].front());
    parcels_[route].pop_front();
    return bytes;
  }
  std::optional<std::string> find(const Route& route) {
    const std::scoped_lock lock(mutex_);
    auto& waiting = parcels_[route];
    if (waiting.empty()) return std::nullopt;
    std::optional<std::string> bytes = std::move(waiting.front());
    waiting.pop_front();
    return bytes;
  }

  std::vector<std::string> gather(int rank, std::string_view mine) {
    std::unique_lock lock(mutex_);
    wait(lock, [&] { return !leaving_; });
    parts_[static_cast<std::size_t>(rank)] = mine;
    if (++arrived_ == size) {
      leaving_ = true;
      changed_.notify_all();
    }
    wait(lock, [&] { return leaving_; });
    std::vector<std::string> all = parts_;
    if (--arrived_ == 0) {
      leaving_ = false;
      changed_.notify_all();
    }
    return all;
  }

  void set_number(std::int64_t number) {
    const std::scoped_lock lock(mutex_);
    number_ = number;
  }
  std::int64_t next() {
    const std::scoped_lock lock(mutex_);
    return number_++;
  }

  void fail() {
    const std::scoped_lock lock(mutex_);
    broken_ = true;
    changed_.notify_all();
  }

  const int size;

 private:
  template <typename F>
  void wait(std::unique_lock<std::mutex>& lock, const F& done) {
    changed_.wait(lock, [&] { return broken_ || done(); });
    if (broken_ && !done()) throw Broken();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Route, std::deque<std::string>> parcels_;
  std::vector<std::string> parts_;
  int arrived_ = 0;
  bool leaving_ = false, broken_ = false;
  std::int64_t number_ = 0;
};

class ThreadTransfers final : public Transfers {
 public:
  ThreadTransfers(World& world, int rank) : world_(world), rank_(rank) {}

  void send(std::span<const std::byte> from, int to, int tag) override {
    world_.put({rank_, to, tag}, {reinterpret_cast<const char*>(from.data()), from.size()});
  }
  void receive(std::span<std::byte> to, int from, int tag) override { awaited_.push_back({to, {from, rank_, tag}}); }
  void advance() override {}
  void wait() override {
    for (const auto& [to, route] : awaited_) {
      const std::string bytes = world_.take(route);
      if (bytes.size() != to.size()) throw std::logic_error("a parcel of another size than was awaited");
      std::memcpy(to.data(), bytes.data(), bytes.size());
    }
    awaited_.clear();
  }

 private:
  World& world_;
  int rank_;
  std::vector<std::pair<std::span<std::byte>, World::Route>> awaited_;
};

class ThreadRanks final : public Ranks {
 public:
  ThreadRanks(World& world, int rank) : world_(world), rank_(rank) {}

  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return world_.size; }
  [[nodiscard]] std::unique_ptr<Transfers> transfers() override {
    return std::make_unique<ThreadTransfers>(world_, rank_);
  }
  [[nodiscard]] std::vector<std::string> gather(std::string_view mine) override { return world_.gather(rank_, mine); }
  void post(std::string bytes, int to) override { world_.put({rank_, to, kLetter}, std::move(bytes)); }
  [[nodiscard]] std::optional<Letter> poll() override {
    for (int from = 0; from < world_.size; ++from) {
      if (auto bytes = world_.find({from, rank_, kLetter})) return Letter{from, std::move(*bytes)};
    }
    return std::nullopt;
  }
  void flush() override {}
  void start_counter(std::int64_t first) override {
    barrier(*this);
    if (rank_ == 0) world_.set_number(first);
    barrier(*this);
  }
  [[nodiscard]] std::int64_t next() override { return world_.next(); }
  [[noreturn]] void abandon(int) noexcept override { std::terminate(); }

 private:
  static constexpr int kLetter = -1;
  World& world_;
  int rank_;
};

}  // namespace

void on_ranks(int count, const std::function<void(Ranks&)>& work) {
  World world(count);
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < count; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        ThreadRanks ranks(world, rank);
        work(ranks);
      } catch (const Broken&) {  // NOLINT(bugprone-empty-catch): the other rank's exception is rethrown
      } catch (...) {
        thrown[static_cast<std::size_t>(rank)] = std::current_exception();
        world.fail();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& problem : thrown) {
    if (problem) std::rethrow_exception(problem);
  }
}

}  // namespace attn::test
