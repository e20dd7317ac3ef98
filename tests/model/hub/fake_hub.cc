#include "tests/model/hub/fake_hub.h"

#include <httplib.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>
#include <utility>

namespace attn::test {

namespace {

std::string hex_digest(const char* kind, const std::string& text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  std::size_t count = 0;
  if (EVP_Q_digest(nullptr, kind, nullptr, text.data(), text.size(), bytes.data(), &count) != 1)
    throw std::runtime_error("no digest");
  std::string hex;
  for (std::size_t i = 0; i < count; ++i) {
    hex += "0123456789abcdef"[bytes[i] >> 4];
    hex += "0123456789abcdef"[bytes[i] & 15];
  }
  return hex;
}

}  // namespace

struct FakeHub::State {
  struct File {
    std::string content, hash;
    bool large = false;
  };

  httplib::Server hub, store;
  int hub_port = 0, store_port = 0;
  std::thread hub_thread, store_thread;

  mutable std::mutex mutex;
  std::condition_variable ending;
  bool ended = false;
  std::map<std::string, File> files;
  Habits habits;
  std::vector<std::pair<std::string, Mishap>> mishaps;
  std::vector<Seen> seen;

  void answer(const httplib::Request& request, httplib::Response& response, bool at_store);
  bool let_in(const httplib::Request& request, httplib::Response& response) const;
  void list(httplib::Response& response) const;
  void resolve(const std::string& name, const httplib::Request& request, httplib::Response& response,
               const Mishap& mishap);
  void serve(const std::string& body, const httplib::Request& request, httplib::Response& response,
             const Mishap& mishap);
  Mishap take_mishap(const std::string& path);
};

FakeHub::Mishap FakeHub::State::take_mishap(const std::string& path) {
  const auto found = std::ranges::find_if(mishaps, [&](const auto& m) { return path.find(m.first) != path.npos; });
  if (found == mishaps.end()) return {};
  Mishap mishap = found->second;
  mishaps.erase(found);
  return mishap;
}

void FakeHub::State::answer(const httplib::Request& request, httplib::Response& response, bool at_store) {
  const std::scoped_lock lock(mutex);
  seen.push_back({request.method, request.target, request.get_header_value("Range"),
                  request.get_header_value("Authorization"), at_store});
  const Mishap mishap = take_mishap(request.path);
  for (const auto& [name, value] : mishap.headers) response.set_header(name, value);
  if (mishap.status != 0) {
    response.status = mishap.status;
    return response.set_content(mishap.body.value_or("mishap"), "text/plain");
  }
  const std::string model = "/owner/tiny", resolved = model + "/resolve/" + commit() + "/";
  if (at_store) {
    for (const auto& [name, file] : files)
      if (request.path == "/store/" + file.hash) return serve(file.content, request, response, mishap);
  } else if (const auto old = request.target.find("/old/tiny"); old != std::string::npos) {
    return response.set_redirect(std::string(request.target).replace(old, 9, model), 307);
  } else if (!let_in(request, response)) {
    return;
  } else if (request.path == "/api/models" + model + "/revision/main" ||
             request.path == "/api/models" + model + "/revision/refs/pr/1") {
    list(response);
    if (mishap.body) response.set_content(*mishap.body, "application/json");
    return;
  } else if (request.path.starts_with(resolved) && files.contains(request.path.substr(resolved.size()))) {
    return resolve(request.path.substr(resolved.size()), request, response, mishap);
  }
  response.status = 404;
}

bool FakeHub::State::let_in(const httplib::Request& request, httplib::Response& response) const {
  if (habits.token.empty() || request.get_header_value("Authorization") == "Bearer " + habits.token) return true;
  response.status = 401;
  return false;
}

void FakeHub::State::list(httplib::Response& response) const {
  nlohmann::json siblings = nlohmann::json::array();
  for (const auto& [name, file] : files) {
    nlohmann::json sibling = {{"rfilename", name}};
    if (habits.lists_sizes) {
      sibling["size"] = file.content.size();
      sibling["blobId"] = file.large ? std::string(40, 'a') : file.hash;
      if (file.large) sibling["lfs"] = {{"sha256", file.hash}, {"size", file.content.size()}, {"pointerSize", 134}};
    }
    siblings.push_back(sibling);
  }
  const nlohmann::json answer = {{"id", "owner/tiny"}, {"sha", habits.listed_commit}, {"siblings", siblings}};
  response.set_content(answer.dump(), "application/json");
}

void FakeHub::State::resolve(const std::string& name, const httplib::Request& request, httplib::Response& response,
                             const Mishap& mishap) {
  const File& file = files.at(name);
  if (!response.has_header("X-Repo-Commit")) response.set_header("X-Repo-Commit", commit());
  if (!file.large) {
    if (!response.has_header("ETag")) response.set_header("ETag", "\"" + file.hash + "\"");
    return serve(file.content, request, response, mishap);
  }
  response.set_header("ETag", "\"" + std::string(32, 'e') + "\"");
  response.set_header("X-Linked-Etag", "\"" + file.hash + "\"");
  response.set_header("X-Linked-Size", std::to_string(file.content.size()));
  response.set_redirect("http://127.0.0.1:" + std::to_string(store_port) + "/store/" + file.hash, 302);
}

void FakeHub::State::serve(const std::string& whole, const httplib::Request& request, httplib::Response& response,
                           const Mishap& mishap) {
  // Without this the library would cut ranges itself; here the server decides.
  const_cast<httplib::Request&>(request).ranges.clear();
  const std::string full = mishap.body.value_or(whole), range = request.get_header_value("Range");
  std::size_t from = 0;
  response.status = 200;
  if (habits.knows_ranges && !range.empty()) {
    from = std::strtoull(range.c_str() + 6, nullptr, 10);  // "bytes=123-"
    if (from >= full.size()) {
      response.status = 416;
      return;
    }
    response.status = 206;
    if (!response.has_header("Content-Range"))
      response.set_header("Content-Range", "bytes " + std::to_string(from) + "-" + std::to_string(full.size() - 1) +
                                               "/" + std::to_string(full.size()));
  }
  std::string body = full.substr(from);
  const std::size_t length = body.size();
  if (!mishap.cut) return response.set_content(body, "application/octet-stream");
  const auto send = [this, body, mishap](std::size_t offset, std::size_t, httplib::DataSink& sink) {
    if (offset < *mishap.cut) return sink.write(body.data() + offset, std::min(*mishap.cut, body.size()) - offset);
    std::unique_lock lock(mutex);
    if (mishap.stall) ending.wait(lock, [this] { return ended; });
    return false;
  };
  response.set_content_provider(length, "application/octet-stream", send);
}

FakeHub::FakeHub() : state_(std::make_unique<State>()) {
  // Requests to 127.0.0.1 must not go through a proxy from the environment.
  ::setenv("no_proxy", "127.0.0.1", 1);
  State& s = *state_;
  const auto start = [&s](httplib::Server& server, bool at_store) {
    server.set_tcp_nodelay(true);
    server.Get(".*", [&s, at_store](const httplib::Request& a, httplib::Response& b) { s.answer(a, b, at_store); });
    return server.bind_to_any_port("127.0.0.1");
  };
  s.hub_port = start(s.hub, false);
  s.store_port = start(s.store, true);
  s.hub_thread = std::thread([&s] { s.hub.listen_after_bind(); });
  s.store_thread = std::thread([&s] { s.store.listen_after_bind(); });
  while (!s.hub.is_running() || !s.store.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

FakeHub::~FakeHub() {
  {
    const std::scoped_lock lock(state_->mutex);
    state_->ended = true;
  }
  state_->ending.notify_all();
  state_->hub.stop();
  state_->store.stop();
  state_->hub_thread.join();
  state_->store_thread.join();
}

std::string FakeHub::endpoint() const { return "http://127.0.0.1:" + std::to_string(state_->hub_port); }
std::string FakeHub::store() const { return "http://127.0.0.1:" + std::to_string(state_->store_port); }
std::string FakeHub::commit() { return "0123456789abcdef0123456789abcdef01234567"; }

void FakeHub::add(const std::string& name, std::string content, Kind kind) {
  const bool large = kind == Kind::large;
  const std::string hash = large ? hex_digest("SHA256", content)
                                 : hex_digest("SHA1", "blob " + std::to_string(content.size()) + '\0' + content);
  const std::scoped_lock lock(state_->mutex);
  state_->files[name] = {std::move(content), hash, large};
}

void FakeHub::remove(const std::string& name) {
  const std::scoped_lock lock(state_->mutex);
  state_->files.erase(name);
}

void FakeHub::add_model(std::size_t weights) {
  std::string bytes(weights, '\0');
  std::uint32_t state = 1;
  for (char& byte : bytes) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
  add("config.json", R"({"model_type": "bert"})");
  add("tokenizer.json", R"({"version": "1.0"})");
  add("vocab.txt", "[PAD]\n[UNK]\nhello\n");
  add("README.md", "# tiny");
  add("pytorch_model.bin", "not wanted", Kind::large);
  add("onnx/config.json", "{}");
  add("model.safetensors", bytes, Kind::large);
}

std::string FakeHub::content(const std::string& name) const {
  const std::scoped_lock lock(state_->mutex);
  return state_->files.at(name).content;
}

std::string FakeHub::hash(const std::string& name) const {
  const std::scoped_lock lock(state_->mutex);
  return state_->files.at(name).hash;
}

void FakeHub::set(const Habits& habits) {
  const std::scoped_lock lock(state_->mutex);
  state_->habits = habits;
}

void FakeHub::next(const std::string& part, const Mishap& mishap, int times) {
  const std::scoped_lock lock(state_->mutex);
  for (int i = 0; i < times; ++i) state_->mishaps.emplace_back(part, mishap);
}

std::vector<FakeHub::Seen> FakeHub::seen() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->seen;
}

std::size_t FakeHub::count(const std::string& method, const std::string& part) const {
  const auto all = seen();
  return static_cast<std::size_t>(std::ranges::count_if(
      all, [&](const Seen& one) { return one.method == method && one.path.find(part) != std::string::npos; }));
}

void FakeHub::forget() {
  const std::scoped_lock lock(state_->mutex);
  state_->seen.clear();
}

}  // namespace attn::test
