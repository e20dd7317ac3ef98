// tests/mpi/mpi_world.h - the ranks of this test program.
#pragma once

#include <memory>

#include "attn/mpi.h"

namespace attn::test {

Ranks& world();
std::unique_ptr<Ranks>& owned_world();

}  // namespace attn::test
