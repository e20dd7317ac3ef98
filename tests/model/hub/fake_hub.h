// tests/model/hub/fake_hub.h - a local server that plays the hub, and a second one that plays its file store.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn::test {

// Has one model, "owner/tiny", at one commit; "old/tiny" redirects to it. Large files redirect to the store, as the hub
// does for git-lfs files.
class FakeHub {
 public:
  FakeHub();
  ~FakeHub();
  FakeHub(const FakeHub&) = delete;
  FakeHub& operator=(const FakeHub&) = delete;

  [[nodiscard]] std::string endpoint() const;
  [[nodiscard]] std::string store() const;
  static std::string commit();

  enum class Kind { small, large };
  void add(const std::string& name, std::string content, Kind kind = Kind::small);
  void remove(const std::string& name);
  // config.json, tokenizer files, a README and a large model.safetensors of this many bytes.
  void add_model(std::size_t weights = 300'000);
  [[nodiscard]] std::string content(const std::string& name) const;
  [[nodiscard]] std::string hash(const std::string& name) const;

  struct Habits {
    bool knows_ranges = true;
    bool lists_sizes = true;  // in the file list; otherwise only a file's own headers have them
    std::string token = {};   // requests without it get 401
    std::string listed_commit = commit();
  };
  void set(const Habits& habits);

  // What happens to one request instead of the normal response.
  struct Mishap {
    int status = 0;  // 0: as usual
    std::map<std::string, std::string> headers = {};
    std::optional<std::string> body = std::nullopt;
    std::optional<std::size_t> cut = std::nullopt;  // the connection breaks after this many bytes of the body
    bool stall = false;                             // stalls instead of breaking
  };
  // Applies to the next `times` requests, to either server, whose path contains `part`.
  void next(const std::string& part, const Mishap& mishap, int times = 1);

  struct Seen {
    std::string method, path, range, token;
    bool at_store = false;
  };
  [[nodiscard]] std::vector<Seen> seen() const;
  [[nodiscard]] std::size_t count(const std::string& method, const std::string& part = "") const;
  void forget();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attn::test
