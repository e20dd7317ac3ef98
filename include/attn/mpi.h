// attn/mpi.h - the processes of an MPI communicator as Ranks. Link attnscope::mpi; no other header needs MPI.
#pragma once

#include <mpi.h>

#include <memory>

#include "attn/ranks.h"

namespace attn {

// The ranks of an MPI communicator. All of its processes must call this. MPI must be initialised with
// MPI_THREAD_FUNNELED or more and must not be finalised before the result is destroyed. The communicator is duplicated,
// so messages of the caller do not mix with ours. Throws std::runtime_error if an MPI call fails.
std::unique_ptr<Ranks> mpi_ranks(MPI_Comm communicator);

}  // namespace attn
