// tests/mpi/main.cc - every rank runs every test; rank 0 prints all results, the others only failures.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "tests/mpi/mpi_world.h"

namespace {

class FailuresOnly final : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& test) override { name_ = test.name(); }
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (result.failed())
      std::fprintf(stderr, "rank %d: %s: %s\n", attn::test::world().rank(), name_.c_str(), result.summary());
  }
  std::string name_;
};

}  // namespace

namespace attn::test {

std::unique_ptr<Ranks>& owned_world() {
  static std::unique_ptr<Ranks> ranks;
  return ranks;
}

Ranks& world() { return *owned_world(); }

}  // namespace attn::test

int main(int argc, char** argv) {
  int threads = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &threads);
  attn::test::owned_world() = attn::mpi_ranks(MPI_COMM_WORLD);
  testing::InitGoogleTest(&argc, argv);
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (attn::test::world().rank() != 0) {
    delete listeners.Release(listeners.default_result_printer());  // NOLINT: gtest gives it to us
    listeners.Append(new FailuresOnly);                            // NOLINT: gtest takes it
  }
  const int code = RUN_ALL_TESTS();
  attn::test::owned_world().reset();
  MPI_Finalize();
  return code;
}
