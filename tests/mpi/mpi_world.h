// tests/mpi/mpi_world.h - the ranks that these tests were started as.
#pragma once

#include <memory>

#include "attn/mpi.h"

namespace attn::test {

Ranks& world();
std::unique_ptr<Ranks>& owned_world();

}  // namespace attn::test
