// apps/mpi/module.cc - the module that the program loads under mpirun, built once per MPI library; see cli/ranks.cc.
#include <unistd.h>

#include <csignal>

#include "attn/mpi.h"

namespace {

// MPICH before 4.2 may hang in MPI_Finalize over TCP, waiting for a rank that has moved on. All ranks have reached this
// point when the alarm is set, so it cannot interrupt work.
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
  delete ranks;  // NOLINT(cppcoreguidelines-owning-memory): allocated above
  code_to_end_with = code;
  std::signal(SIGALRM, [](int) { _exit(code_to_end_with); });
  alarm(kPatience);
  MPI_Finalize();
  alarm(0);
}
}
