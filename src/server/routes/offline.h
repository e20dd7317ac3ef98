// server/routes/offline.h - a recording and the page in one HTML file that needs no network (docs/page.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "attn/thread_pool.h"
#include "base/progress.h"
#include "server/store/stored_recording.h"

namespace attn::server {

// Weights take 16 bits each if all heads then fit into this many bytes, else 8.
inline constexpr std::int64_t kMostExact = 1'500'000;
// If 8 bits per weight take more bytes than this, the file holds thumbnails and the most interesting heads that fit.
inline constexpr std::int64_t kMostBytes = 16'000'000;

// The page's initial state.
struct Begin {
  std::string state = {};  // as in its address after '#': "view=heads"; empty: the default
  bool words = false;      // tables between words instead of tokens
};

// The data that the page unpacks: uint32 n, n bytes of JSON {"facts", "blocks"}, then the blocks.
std::string offline_data(const StoredRecording& stored, bool words, ThreadPool& pool,
                         const base::Progress& progress = {});

// `page`: offline.html as web/ builds it. Throws std::runtime_error if it is not such a file.
std::string offline_page(std::string_view page, const StoredRecording& stored, const Begin& begin, ThreadPool& pool,
                         const base::Progress& progress = {});

}  // namespace attn::server
