// model/hub/hub_client.h - the hub's three answers about a model: its list of files, what a file is, and the file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "model/hub/hub.h"
#include "model/hub/hub_http.h"
#include "model/hub/hub_listing.h"
#include "model/hub/hub_partial.h"

namespace attn::model {

// Everything is tried again as Patience says, and throws attn::Error, with the model's name as its path, when that was
// not enough or would be of no use. `pulse` is called at least once a second, also between tries; what it throws ends
// the work.
class HubClient {
 public:
  HubClient(const HubSettings& settings, const Pull& what, std::function<void()> pulse);

  Listing list();
  // Size and hash, from the headers; leaves what is known already.
  void identify(RemoteFile& file, const std::string& commit);
  // Appends to `into` what it still lacks. What arrived stays there when it breaks off; if it is too long or too short
  // it is removed. on_size: after every piece, with the file's size.
  void download(const RemoteFile& file, const std::string& commit, PartialFile& into,
                const std::function<void(std::int64_t)>& on_size);

 private:
  class Tries;

  [[nodiscard]] std::string file_url(const RemoteFile& file, const std::string& commit) const;
  [[nodiscard]] HttpAnswer head_at_home(const std::string& url);
  [[noreturn]] void refuse(const HttpAnswer& answer, const std::string& what) const;
  [[nodiscard]] std::string why(const HttpAnswer& answer) const;
  [[nodiscard]] std::string how_to_be_allowed() const;

  const HubSettings& settings_;
  const Pull& what_;
  std::function<void()> pulse_;
  HttpClient http_;
};

}  // namespace attn::model
