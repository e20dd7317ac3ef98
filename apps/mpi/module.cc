// apps/mpi/module.cc - what the program loads when mpirun has started it, one for each MPI library; see cli/ranks.cc.
#include <unistd.h>

#include <csignal>

#include "attn/mpi.h"

namespace {

// MPICH before 4.2 may wait for ever in MPI_Finalize over TCP, for a rank that has gone on. All ranks have come that
// far when this clock is set, so that nobody is still at work when it strikes.
constexpr unsigned kPatience = 20;  // seconds
volatile std::sig_atomic_t code_to_end_with = 0;

}  // namespace

extern "C" {

attn::Ranks* attnscope_start_ranks() {
  int threads = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &threads);
  return attn::mpi_ranks(MPI_COMM_WORLD).release();
}

void attnscope_end_ranks(attn::Ranks* ranks, int code) {
  delete ranks;  // NOLINT(cppcoreguidelines-owning-memory): made above
  code_to_end_with = code;
  std::signal(SIGALRM, [](int) { _exit(code_to_end_with); });
  alarm(kPatience);
  MPI_Finalize();
  alarm(0);
}
}
