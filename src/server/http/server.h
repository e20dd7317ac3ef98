// server/http/server.h - specimens on a page of this machine: HTTP on 127.0.0.1.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "insight/tables/attention_tables.h"
#include "server/http/page_files.h"
#include "server/store/recording_store.h"

namespace attn::server {

inline constexpr int kDefaultPort = 7865;

struct ServerOptions {
  PageFiles page;
  PoolOf pool;
  std::optional<int> port = std::nullopt;  // none: kDefaultPort, or the next that is free; 0: any
  std::int64_t cache_bytes = std::int64_t{128} << 20;
  StoreOptions store = {};  // the models that the page may use, and the memory for what they read
};

// Serves from construction on, on threads of its own.
//
//   - Nobody but this machine can reach it, and no page of another site can use it: a request must name this machine as
//     its Host, and where a browser says from where it comes, that must be the page itself.
//   - No name or path in a request reaches the file system, and what requests make stays within stated limits.
class Server {
 public:
  // Throws std::runtime_error where the port is taken or may not be used.
  explicit Server(ServerOptions options);
  ~Server();  // stop()
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Shows one more; its id. As RecordingStore::add().
  std::string add(std::string name, const std::shared_ptr<const insight::AttentionTables>& tables,
                  const base::Progress& progress = {});

  // Shows one that is made by a model of the stock; its id. As RecordingStore::make(), but it stays.
  std::string make(RecordRequest record_request, const base::Progress& progress = {});

  // What is shown under this id.
  [[nodiscard]] std::shared_ptr<const StoredRecording> find(const std::string& id) const;

  [[nodiscard]] int port() const noexcept;
  [[nodiscard]] std::string url() const;  // "http://127.0.0.1:7865/"
  [[nodiscard]] std::int64_t cached_bytes() const;
  [[nodiscard]] int working() const;  // pieces of long work that are being done

  // No more requests are taken, and work in progress is given up: within a moment. May be called again. In a forked
  // child it does nothing: the parent goes on.
  void stop();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace attn::server
