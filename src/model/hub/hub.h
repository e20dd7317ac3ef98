// model/hub/hub.h - downloads models from the Hugging Face hub into the cache that its own tools use.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace attn::model {

// Timeouts and retries of a pull.
struct Patience {
  int retries = 5;                                  // consecutive, without progress
  std::chrono::milliseconds pause{1'000};           // before the first retry; doubles each time
  std::chrono::milliseconds longest_pause{60'000};  // also caps the server's Retry-After
  std::chrono::milliseconds timeout{10'000};        // for connecting, and between two bytes
};

// The environment, read as huggingface_hub reads it: HF_ENDPOINT, HF_HOME, HF_HUB_CACHE, HF_TOKEN (or the file token in
// HF_HOME), HF_HUB_OFFLINE.
struct HubSettings {
  std::string endpoint = "https://huggingface.co";
  std::filesystem::path cache;  // holds models--owner--name/{blobs,refs,snapshots}
  std::string token;            // empty: none
  bool offline = false;
  Patience patience;

  static HubSettings from_environment();
};

// A model in the cache.
struct CachedModel {
  std::string name;  // "owner/name" or "name"
  std::string revision;
  std::filesystem::path folder;  // snapshots/<commit>
};
std::vector<CachedModel> cached_models(const HubSettings& settings);

// Resolves the user's name for a model: a folder, or a name in the cache. Throws attn::Error, which says where it
// looked and that `attnscope pull` would download it.
std::filesystem::path find_model(const std::string& name_or_folder, const HubSettings& settings);

// Reported as bytes arrive and at least once a second. Returning false stops the pull and keeps the partial download,
// to be resumed later. While the file list is being requested, file is empty and all numbers are 0.
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

// Downloads config, weights and tokenizer, and nothing else, into the cache in huggingface_hub's layout. A file appears
// only when it is complete and its length and hash (sha256 for large files, git's sha1 for small ones) match. An
// interrupted download resumes where it stopped. Returns the snapshot's folder. Throws attn::Error: not found, not
// allowed (and how to set a token), no network, wrong length or hash, disk full.
std::filesystem::path pull(const Pull& what, const HubSettings& settings);

}  // namespace attn::model
