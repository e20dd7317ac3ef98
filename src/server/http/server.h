// server/http/server.h - serves recordings and the page over HTTP on 127.0.0.1.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "insight/tables/attention_tables.h"
#include "server/http/connections.h"
#include "server/http/page_files.h"
#include "server/store/recording_store.h"

namespace attn::server {

inline constexpr int kDefaultPort = 7865;

struct ServerOptions {
  PageFiles page;
  PoolOf pool;
  std::optional<int> port = std::nullopt;              // none: kDefaultPort or the next free port; 0: any free port
  std::int64_t cache_bytes = std::int64_t{128} << 20;  // at most; not more than a quarter of store.memory
  StoreOptions store = {};  // the models that the page may use, and the memory for recordings
  ConnectionLimits connections = {};
};

// Serves from construction on, on its own threads.
//
//   - Only this machine can reach it, and no page of another site can use it: the Host of a request must be this
//     machine, and its Origin, if the browser sends one, must be the page itself.
//   - No path in a request reaches the file system, and recordings that requests make stay within limits. Files that
//   the
//     user opens lie in a temporary folder, under plain names, until stop().
class Server {
 public:
  // Throws std::runtime_error if the port is taken or not permitted.
  explicit Server(ServerOptions options);
  ~Server();  // stop()
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Adds a recording and returns its id; see RecordingStore::add().
  std::string add(std::string name, const std::shared_ptr<const insight::AttentionTables>& tables,
                  const base::Progress& progress = {});

  // Makes a recording with one of the server's models and returns its id; see RecordingStore::make(). It is never
  // evicted.
  std::string make(RecordRequest record_request, const base::Progress& progress = {});

  // The recording with this id.
  [[nodiscard]] std::shared_ptr<const StoredRecording> find(const std::string& id) const;

  [[nodiscard]] int port() const noexcept;
  [[nodiscard]] std::string url() const;  // "http://127.0.0.1:7865/"
  [[nodiscard]] std::int64_t cached_bytes() const;
  [[nodiscard]] int working() const;  // number of long tasks in progress

  // Stops accepting requests and cancels work in progress, within a second. May be called again. Does nothing in a
  // forked child: the parent keeps serving.
  void stop();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace attn::server
