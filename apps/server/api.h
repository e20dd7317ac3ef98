// server/api.h - what the page may ask, answered: paths and queries in, bytes out; no sockets (docs/page.md).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "attn/thread_pool.h"
#include "insight/specimen.h"
#include "server/byte_cache.h"
#include "server/exhibit.h"

namespace attn::server {

struct Answer {
  int status = 200;
  std::string type;  // Content-Type
  Bytes body;
  Bytes packed = {};       // the same gzipped; null: it is not
  std::string shape = {};  // "R,C" of a tile
};
Answer json_answer(int status, std::string json);
// {"error": "one line"}
Answer error_answer(int status, const std::string& what);

using Query = std::map<std::string, std::string>;
// The pool may change from one request to the next.
using PoolOf = std::function<std::shared_ptr<ThreadPool>()>;

class Api {
 public:
  // At most `cache_bytes` of tiles and rows are kept.
  Api(PoolOf pool, std::int64_t cache_bytes) : pool_(std::move(pool)), cache_(cache_bytes) {}

  // Its id. What is no model's own recording is looked over at once, with `progress` in heads: throws
  // std::invalid_argument where a number is no weight.
  std::string add(std::string name, const std::shared_ptr<const insight::Specimen>& specimen,
                  const insight::Progress& progress = {});

  // For paths from "/api/" on. Throws nothing: what is wrong is an answer with status 400, 404 or 500. `still_wanted`
  // is asked now and then during long work, which ends with status 503 when it says no.
  [[nodiscard]] Answer answer(std::string_view path, const Query& query,
                              const std::function<bool()>& still_wanted) const;

  [[nodiscard]] std::int64_t cached_bytes() const { return cache_.bytes(); }

 private:
  struct Asked;
  [[nodiscard]] Answer list() const;
  [[nodiscard]] std::shared_ptr<const Exhibit> find(std::string_view id) const;  // null: there is none
  [[nodiscard]] Answer answer_or_throw(std::string_view path, const Query& query, const insight::Progress& pulse) const;
  [[nodiscard]] Answer facts_of(const Asked& asked) const;
  [[nodiscard]] Answer thumbnails(const Asked& asked) const;
  [[nodiscard]] Answer tile(const Asked& asked) const;
  [[nodiscard]] Answer row(const Asked& asked) const;
  [[nodiscard]] Answer column(const Asked& asked) const;
  [[nodiscard]] Answer profile(const Asked& asked) const;

  PoolOf pool_;
  mutable ByteCache cache_;
  mutable std::mutex mutex_;
  std::int64_t named_ = 0;  // ids that were given
  std::vector<std::shared_ptr<const Exhibit>> exhibits_;
};

}  // namespace attn::server
