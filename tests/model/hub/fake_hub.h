// tests/model/hub/fake_hub.h - a server on this machine that plays the hub, and a second one that plays its file store.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace attn::test {

// Has one model, "owner/tiny", at one commit; "old/tiny" is redirected to it. Large files are redirected to the store,
// as the hub does with what git-lfs keeps.
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
  // config.json, tokenizer files, a README and a large model.safetensors of so many bytes.
  void add_model(std::size_t weights = 300'000);
  [[nodiscard]] std::string content(const std::string& name) const;
  [[nodiscard]] std::string hash(const std::string& name) const;

  struct Habits {
    bool knows_ranges = true;
    bool lists_sizes = true;  // in the list of files; if not, only a file's own headers tell
    std::string token = {};   // without it: 401
    std::string listed_commit = commit();
  };
  void set(const Habits& habits);

  // What happens to one request instead of what was asked for.
  struct Mishap {
    int status = 0;  // 0: the usual one
    std::map<std::string, std::string> headers = {};
    std::optional<std::string> body = std::nullopt;
    std::optional<std::size_t> cut = std::nullopt;  // the connection breaks after so many bytes of the body
    bool stall = false;                             // and instead of breaking, nothing more comes
  };
  // For the next `times` requests, to either server, whose path contains `part`.
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
