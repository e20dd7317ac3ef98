// mpi/module.cc - what the program loads when mpirun has started it, one for each MPI library; see cli/ranks.cc.
#include "attn/mpi.h"

extern "C" {

attn::Ranks* attnscope_start_ranks() {
  int threads = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &threads);
  return attn::mpi_ranks(MPI_COMM_WORLD).release();
}

void attnscope_end_ranks(attn::Ranks* ranks) {
  delete ranks;  // NOLINT(cppcoreguidelines-owning-memory): made above
  MPI_Finalize();
}
}
