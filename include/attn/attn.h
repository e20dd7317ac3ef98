// attn/attn.h - the whole engine in one include.
#pragma once

#include "attn/attention.h"
#include "attn/backward.h"
#include "attn/bias.h"
#include "attn/kv_cache.h"
#include "attn/linear.h"
#include "attn/mask.h"
#include "attn/thread_pool.h"
#include "attn/tile_plan.h"
#include "attn/view.h"
