// model/hub/hub_listing.h - the files of a repository on the hub, and which of them a model needs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace attn::model {

struct RemoteFile {
  std::string name;
  std::int64_t size = -1;  // -1: not yet known
  std::string hash;        // as in hub_hash.h, and the blob's name; empty: not yet known

  [[nodiscard]] bool is_known() const noexcept { return size >= 0 && !hash.empty(); }
};

struct Listing {
  std::string commit;
  std::vector<RemoteFile> files;

  // Parses {"sha": commit, "siblings": [{"rfilename", "size", "blobId", "lfs": {"sha256", "size"}}]}. Throws
  // attn::Error, with `origin` as its path, also for an invalid commit.
  static Listing parse(const std::string& json, const std::string& origin);

  [[nodiscard]] const RemoteFile* find(const std::string& name) const;
};

inline constexpr const char* kIndexFile = "model.safetensors.index.json";

// Configuration, tokenizer and model.safetensors or its index, as far as the repository has them; files in subfolders
// are ignored. Throws attn::Error, with the model's name as its path, if there is no config.json or no safetensors
// file; the message then explains how to convert the weights.
std::vector<RemoteFile> files_of_model(const Listing& listing, const std::string& model);

// The files that an index names, each once. Throws attn::Error, with the index as its path, for names other than
// safetensors files in the same folder, and for files that the listing lacks.
std::vector<RemoteFile> shards_of_model(const Listing& listing, const std::filesystem::path& index);

}  // namespace attn::model
