// attn/mpi.h - the processes of an MPI communicator. Link attnscope::mpi; nothing else here needs MPI.
#pragma once

#include <mpi.h>

#include <memory>

#include "attn/ranks.h"

namespace attn {

// MPI must have been initialised, with MPI_THREAD_FUNNELED or more, and must not be finalised before the result is
// gone. The communicator is duplicated: what the caller sends there does not mix with ours. All of its ranks must call
// it. Throws std::runtime_error where MPI says no.
std::unique_ptr<Ranks> mpi_ranks(MPI_Comm communicator);

}  // namespace attn
