// tests/text/golden_tokenizers.h - tests/golden/tokenizers: test strings, and the results of Hugging Face's tokenizers.
#pragma once

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace attn::test {

inline std::filesystem::path tokenizers_folder() { return std::filesystem::path(ATTNSCOPE_GOLDEN) / "tokenizers"; }

inline nlohmann::json read_json(const std::filesystem::path& file) {
  std::ifstream in(file);
  return nlohmann::json::parse(in);
}

inline std::vector<std::string> golden_texts() {
  return read_json(tokenizers_folder() / "texts.json").at("texts").get<std::vector<std::string>>();
}

inline std::vector<std::pair<std::string, std::string>> golden_pairs() {
  return read_json(tokenizers_folder() / "texts.json")
      .at("pairs")
      .get<std::vector<std::pair<std::string, std::string>>>();
}

}  // namespace attn::test
