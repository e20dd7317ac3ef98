// model/hub/hub_listing.h - what a repository on the hub has, and what of it a model needs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace attn::model {

struct RemoteFile {
  std::string name;
  std::int64_t size = -1;  // -1: not known yet
  std::string hash;        // as hub_hash.h knows it, and the blob's name; empty: not known yet

  [[nodiscard]] bool is_known() const noexcept { return size >= 0 && !hash.empty(); }
};

struct Listing {
  std::string commit;
  std::vector<RemoteFile> files;

  // Of {"sha": commit, "siblings": [{"rfilename", "size", "blobId", "lfs": {"sha256", "size"}}]}. Throws attn::Error,
  // with `origin` as its path; also for a commit that is none.
  static Listing parse(const std::string& json, const std::string& origin);

  [[nodiscard]] const RemoteFile* find(const std::string& name) const;
};

inline constexpr const char* kIndexFile = "model.safetensors.index.json";

// Configuration, tokenizer and model.safetensors or its index, as far as they are there; never a folder's. Throws
// attn::Error, with the model's name as its path, if there is no config.json or no safetensors, and then says how to
// convert what there is.
std::vector<RemoteFile> files_of_model(const Listing& listing, const std::string& model);

// The files that an index names, each once. Throws attn::Error, with the index as its path, for names that are not
// those of safetensors files beside it, and for files that the listing has not.
std::vector<RemoteFile> shards_of_model(const Listing& listing, const std::filesystem::path& index);

}  // namespace attn::model
