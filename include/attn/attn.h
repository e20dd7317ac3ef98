// attn/attn.h - the whole engine in one include; attn/mpi.h, which needs an MPI library, is the one header besides.
#pragma once

#include "attn/attention.h"
#include "attn/backward.h"
#include "attn/bias.h"
#include "attn/error.h"
#include "attn/kv_cache.h"
#include "attn/linear.h"
#include "attn/mask.h"
#include "attn/ranks.h"
#include "attn/ring.h"
#include "attn/thread_pool.h"
#include "attn/tile_plan.h"
#include "attn/view.h"
