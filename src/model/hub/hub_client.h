// model/hub/hub_client.h - the three requests to the hub: a model's file list, a file's size and hash, and the file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "model/hub/hub.h"
#include "model/hub/hub_http.h"
#include "model/hub/hub_listing.h"
#include "model/hub/hub_partial.h"

namespace attn::model {

// Every request is retried as Patience says. Throws attn::Error, with the model's name as its path, when retries run
// out or are pointless. `pulse` is called at least once a second, also between attempts; if it throws, the request
// ends.
class HubClient {
 public:
  HubClient(const HubSettings& settings, const Pull& what, std::function<void()> pulse);

  Listing list();
  // Reads size and hash from the headers; keeps those that are already known.
  void identify(RemoteFile& file, const std::string& commit);
  // Appends the missing bytes to `into`. A partial download is kept on failure; one of the wrong length is removed.
  // on_size: called after every piece with the file's current size.
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
