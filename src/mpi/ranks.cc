#include <algorithm>
#include <cstdlib>
#include <list>
#include <thread>
#include <utility>

#include "attn/mpi.h"

namespace attn {
namespace {

// MPI counts in int: longer messages are sent in several pieces, one after the other.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;
constexpr int kLetterTag = 0;

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(std::string("MPI: ") + what + ": " + text);
}

// Functions, because MPI's macros contain C-style casts.
MPI_Datatype byte_type() { return MPI_BYTE; }
MPI_Datatype number_type() { return MPI_INT64_T; }

// Waits with yield: MPI's own wait spins, so that ranks on one core would wait for each other's time slices.
void wait_for(std::span<MPI_Request> requests, const char* what) {
  constexpr int kSpins = 200;
  for (int spins = 0;; ++spins) {
    int done = 0;
    check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE), what);
    if (done != 0) return;
    if (spins >= kSpins) std::this_thread::yield();
  }
}

class MpiTransfers final : public Transfers {
 public:
  explicit MpiTransfers(MPI_Comm communicator) : communicator_(communicator) {}
  // Cancels requests that are still open after an exception; normally there are none.
  ~MpiTransfers() override {
    for (MPI_Request& request : requests_) {
      MPI_Cancel(&request);
      MPI_Request_free(&request);
    }
  }

  void send(std::span<const std::byte> from, int to, int tag) override {
    each_piece(from, [&](std::span<const std::byte> piece, MPI_Request* request) {
      check(MPI_Isend(piece.data(), static_cast<int>(piece.size()), byte_type(), to, tag, communicator_, request),
            "send");
    });
  }
  void receive(std::span<std::byte> to, int from, int tag) override {
    each_piece(to, [&](std::span<std::byte> piece, MPI_Request* request) {
      check(MPI_Irecv(piece.data(), static_cast<int>(piece.size()), byte_type(), from, tag, communicator_, request),
            "receive");
    });
  }
  void advance() override {
    int done = 0;
    check(MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE), "test");
    if (done != 0) requests_.clear();
  }
  void wait() override {
    wait_for(requests_, "wait");
    requests_.clear();
  }

 private:
  template <typename T, typename F>
  void each_piece(std::span<T> bytes, const F& begin) {
    for (std::size_t at = 0; at < bytes.size(); at += kMostBytes) {
      MPI_Request request = MPI_REQUEST_NULL;
      begin(bytes.subspan(at, std::min(kMostBytes, bytes.size() - at)), &request);
      requests_.push_back(request);
    }
  }

  MPI_Comm communicator_;
  std::vector<MPI_Request> requests_;
};

MPI_Comm copy_of(MPI_Comm communicator) {
  MPI_Comm copy = MPI_COMM_NULL;
  check(MPI_Comm_dup(communicator, &copy), "communicator");
  MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
  return copy;
}

class MpiRanks final : public Ranks {
 public:
  explicit MpiRanks(MPI_Comm communicator) : parcels_(copy_of(communicator)), letters_(copy_of(communicator)) {
    check(MPI_Comm_rank(parcels_, &rank_), "rank");
    check(MPI_Comm_size(parcels_, &size_), "size");
    // The counter lives on rank 0.
    const MPI_Aint bytes = rank_ == 0 ? static_cast<MPI_Aint>(sizeof(std::int64_t)) : 0;
    check(
        MPI_Win_allocate(bytes, sizeof(std::int64_t), MPI_INFO_NULL, parcels_, static_cast<void*>(&number_), &counter_),
        "window");
    check(MPI_Win_lock_all(0, counter_), "window");
  }
  ~MpiRanks() override {
    for (Posted& posted : posted_) MPI_Wait(&posted.request, MPI_STATUS_IGNORE);
    MPI_Win_unlock_all(counter_);
    MPI_Win_free(&counter_);
    MPI_Comm_free(&letters_);
    MPI_Comm_free(&parcels_);
  }

  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return size_; }
  [[nodiscard]] std::unique_ptr<Transfers> transfers() override { return std::make_unique<MpiTransfers>(parcels_); }

  [[nodiscard]] std::vector<std::string> gather(std::string_view mine) override {
    const auto count = static_cast<std::size_t>(size_);
    auto length = static_cast<std::int64_t>(mine.size());
    std::vector<std::int64_t> lengths(count);
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Iallgather(&length, 1, number_type(), lengths.data(), 1, number_type(), parcels_, &request), "gather");
    wait_for(std::span(&request, 1), "gather");
    std::vector<std::string> all(count);
    MpiTransfers under_way(parcels_);
    for (std::size_t r = 0; r < count; ++r) {
      all[r].resize(static_cast<std::size_t>(lengths[r]));
      if (static_cast<int>(r) == rank_) {
        all[r] = mine;
        continue;
      }
      under_way.receive(std::as_writable_bytes(std::span(all[r])), static_cast<int>(r), kGatherTag);
      under_way.send(std::as_bytes(std::span(mine)), static_cast<int>(r), kGatherTag);
    }
    under_way.wait();
    return all;
  }

  void post(std::string bytes, int to) override {
    std::erase_if(posted_, [](Posted& posted) {
      int done = 0;
      check(MPI_Test(&posted.request, &done, MPI_STATUS_IGNORE), "letter");
      return done != 0;
    });
    if (bytes.size() > kMostBytes) throw std::runtime_error("MPI: a letter of more than 1 GB");
    Posted& posted = posted_.emplace_back();
    posted.bytes = std::move(bytes);
    check(MPI_Isend(posted.bytes.data(), static_cast<int>(posted.bytes.size()), byte_type(), to, kLetterTag, letters_,
                    &posted.request),
          "letter");
  }
  [[nodiscard]] std::optional<Letter> poll() override {
    int found = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    check(MPI_Improbe(MPI_ANY_SOURCE, kLetterTag, letters_, &found, &message, &status), "letter");
    if (found == 0) return std::nullopt;
    int length = 0;
    check(MPI_Get_count(&status, byte_type(), &length), "letter");
    Letter letter{status.MPI_SOURCE, std::string(static_cast<std::size_t>(length), '\0')};
    check(MPI_Mrecv(letter.bytes.data(), length, byte_type(), &message, MPI_STATUS_IGNORE), "letter");
    return letter;
  }
  void flush() override {
    for (Posted& posted : posted_) wait_for(std::span(&posted.request, 1), "letter");
    posted_.clear();
  }

  void start_counter(std::int64_t first) override {
    barrier(*this);  // no rank still uses the previous count
    if (rank_ == 0) {
      check(MPI_Accumulate(&first, 1, number_type(), 0, 0, 1, number_type(), MPI_REPLACE, counter_), "counter");
      check(MPI_Win_flush(0, counter_), "counter");
    }
    barrier(*this);
  }
  [[nodiscard]] std::int64_t next() override {
    const std::int64_t one = 1;
    std::int64_t number = 0;
    check(MPI_Fetch_and_op(&one, &number, number_type(), 0, 0, MPI_SUM, counter_), "counter");
    check(MPI_Win_flush(0, counter_), "counter");
    return number;
  }

  [[noreturn]] void abandon(int code) noexcept override {
    MPI_Abort(MPI_COMM_WORLD, code);
    std::_Exit(code);
  }

 private:
  static constexpr int kGatherTag = 1000;
  struct Posted {
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  MPI_Comm parcels_, letters_;
  int rank_ = 0, size_ = 1;
  MPI_Win counter_ = MPI_WIN_NULL;
  std::int64_t* number_ = nullptr;
  std::list<Posted> posted_;  // a list: requests keep pointers to its elements
};

}  // namespace

std::unique_ptr<Ranks> mpi_ranks(MPI_Comm communicator) { return std::make_unique<MpiRanks>(communicator); }

}  // namespace attn
