// server/routes/offline.h - a specimen and the page in one HTML file that needs no network (docs/page.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "attn/thread_pool.h"
#include "base/progress.h"
#include "server/store/stored_recording.h"

namespace attn::server {

// Numbers are kept in 16 bits while all heads together take this much, else in 8.
inline constexpr std::int64_t kMostExact = 1'500'000;
// With more than this in 8 bits there are only thumbnails and as many heads as fit, the most interesting ones.
inline constexpr std::int64_t kMostBytes = 16'000'000;

// How the page begins.
struct Begin {
  std::string state = {};  // as in its address behind '#': "view=heads"; empty: wherever it likes
  bool words = false;      // between words instead of tokens
};

// uint32 n, n bytes of JSON {"facts", "blocks"}, then the blocks: what the page unpacks.
std::string offline_data(const StoredRecording& stored, bool words, ThreadPool& pool,
                         const base::Progress& progress = {});

// `page`: offline.html as web/ builds it. Throws std::runtime_error where it is no such file.
std::string offline_page(std::string_view page, const StoredRecording& stored, const Begin& begin, ThreadPool& pool,
                         const base::Progress& progress = {});

}  // namespace attn::server
