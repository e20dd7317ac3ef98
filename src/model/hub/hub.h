// model/hub/hub.h - models from the Hugging Face hub, and the cache that its own tools keep.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace attn::model {

// How long a pull waits, and how often it tries again.
struct Patience {
  int retries = 5;                                  // in a row that bring nothing new
  std::chrono::milliseconds pause{1'000};           // before the first of them, doubled for each next one
  std::chrono::milliseconds longest_pause{60'000};  // also where the server asks for more (Retry-After)
  std::chrono::milliseconds timeout{10'000};        // to connect, and without a byte
};

// As huggingface_hub reads the environment: HF_ENDPOINT, HF_HOME, HF_HUB_CACHE, HF_TOKEN (or the file token in
// HF_HOME), HF_HUB_OFFLINE.
struct HubSettings {
  std::string endpoint = "https://huggingface.co";
  std::filesystem::path cache;  // holds models--owner--name/{blobs,refs,snapshots}
  std::string token;            // empty: none
  bool offline = false;
  Patience patience;

  static HubSettings from_environment();
};

// A model that lies in the cache.
struct CachedModel {
  std::string name;  // "owner/name" or "name"
  std::string revision;
  std::filesystem::path folder;  // snapshots/<commit>
};
std::vector<CachedModel> cached_models(const HubSettings& settings);

// What the user called a model: a folder, or a name that is in the cache. Throws attn::Error, saying where it looked
// and that `attnscope pull` would fetch it.
std::filesystem::path find_model(const std::string& name_or_folder, const HubSettings& settings);

// Called as bytes arrive and at least once a second; false stops (and keeps what is there, to be resumed). While the
// hub is still being asked what there is, file is empty and everything is 0.
struct Progress {
  std::string file;
  std::int64_t file_bytes = 0, file_total = 0;  // of this file
  std::int64_t bytes = 0, total = 0;            // of all files
};

struct Pull {
  std::string name;
  std::string revision = "main";
  std::function<bool(const Progress&)> on_progress;
};

// Fetches config, weights and tokenizer, nothing else, into the cache, in the layout of huggingface_hub: a file appears
// only when it is whole and its length and hash (sha256 of large files, git's sha1 of small ones) are right. A broken
// download goes on where it stopped. Returns the snapshot's folder. Throws attn::Error: not found, not allowed (and how
// to give a token), no network, wrong length or hash, disk full.
std::filesystem::path pull(const Pull& what, const HubSettings& settings);

}  // namespace attn::model
