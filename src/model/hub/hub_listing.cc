#include "model/hub/hub_listing.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "attn/error.h"
#include "base/json_file.h"
#include "base/one_line.h"
#include "base/read_file.h"
#include "model/hub/hub_hash.h"

namespace attn::model {

using nlohmann::json;

namespace {

constexpr std::int64_t kMostIndexBytes = std::int64_t{64} << 20;

constexpr std::array kSmallFiles = {"config.json",
                                    "generation_config.json",
                                    "tokenizer.json",
                                    "tokenizer_config.json",
                                    "special_tokens_map.json",
                                    "vocab.txt",
                                    "vocab.json",
                                    "merges.txt"};

std::optional<std::int64_t> size_of(const json& file) {
  const auto size = file.find("size");
  if (size == file.end() || !size->is_number_integer()) return std::nullopt;
  return size->get<std::int64_t>();
}

RemoteFile parse_file(const json& sibling) {
  RemoteFile file;
  file.name = sibling.at("rfilename").get<std::string>();
  file.size = size_of(sibling).value_or(-1);
  std::string hash;
  if (const auto lfs = sibling.find("lfs"); lfs != sibling.end() && lfs->is_object()) {
    file.size = size_of(*lfs).value_or(file.size);
    hash = lfs->value("sha256", "");
  } else if (const auto id = sibling.find("blobId"); id != sibling.end() && id->is_string()) {
    hash = id->get<std::string>();
  }
  if (is_sha256(hash) || is_git_sha1(hash)) file.hash = hash;
  return file;
}

bool is_shard_name(const std::string& name) {
  constexpr std::string_view kEnd = ".safetensors";
  return name.size() > kEnd.size() && name.size() <= 255 && name.ends_with(kEnd) && name.front() != '.' &&
         std::ranges::all_of(name, [](char c) { return c > ' ' && c < 0x7f && c != '/' && c != '\\' && c != ':'; });
}

}  // namespace

Listing Listing::parse(const std::string& text, const std::string& origin) {
  try {
    const json root = base::parse_json(text, origin);
    Listing listing;
    listing.commit = root.at("sha").get<std::string>();
    if (!is_git_sha1(listing.commit))
      throw Error(origin,
                  "returned the commit " + base::in_quotes(listing.commit) + "; 40 hexadecimal digits are needed");
    for (const json& sibling : root.at("siblings")) listing.files.push_back(parse_file(sibling));
    return listing;
  } catch (const json::exception& e) {
    throw Error(origin, "did not return a list of model files: " + base::one_line(e.what()));
  }
}

const RemoteFile* Listing::find(const std::string& name) const {
  const auto found = std::ranges::find(files, name, &RemoteFile::name);
  return found == files.end() ? nullptr : &*found;
}

std::vector<RemoteFile> files_of_model(const Listing& listing, const std::string& model) {
  if (listing.find("config.json") == nullptr)
    throw Error(model, "has no config.json on the hub; this program runs models in the layout of transformers");
  std::vector<RemoteFile> files;
  for (const char* name : kSmallFiles)
    if (const RemoteFile* file = listing.find(name)) files.push_back(*file);
  const RemoteFile* weights = listing.find("model.safetensors");
  if (weights == nullptr) weights = listing.find(kIndexFile);
  if (weights == nullptr) {
    const bool torch = listing.find("pytorch_model.bin") || listing.find("pytorch_model.bin.index.json");
    throw Error(model,
                std::string("has no model.safetensors on the hub") +
                    (torch ? ", only pytorch_model.bin; load it in Python with transformers' from_pretrained, write "
                             "it with save_pretrained(FOLDER), and use FOLDER"
                           : "; other weight formats are not supported"));
  }
  files.push_back(*weights);
  return files;
}

std::vector<RemoteFile> shards_of_model(const Listing& listing, const std::filesystem::path& index) {
  std::set<std::string> names;
  try {
    const json root = base::parse_json(base::read_file(index, kMostIndexBytes), index.string());
    for (const auto& [tensor, file] : root.at("weight_map").items()) names.insert(file.get<std::string>());
  } catch (const json::exception& e) {
    throw Error(index.string(), "is not a shard index: " + base::one_line(e.what()));
  }
  std::vector<RemoteFile> shards;
  for (const std::string& name : names) {
    if (!is_shard_name(name))
      throw Error(index.string(),
                  "names " + base::in_quotes(name) + "; only safetensors files in the same folder are accepted");
    const RemoteFile* file = listing.find(name);
    if (file == nullptr)
      throw Error(index.string(), "names " + base::in_quotes(name) + ", which the hub does not have");
    shards.push_back(*file);
  }
  return shards;
}

}  // namespace attn::model
