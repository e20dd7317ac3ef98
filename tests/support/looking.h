// tests/support/looking.h - reads tests/golden/looking.json, which make_looking.py generates.
#pragma once

#include <algorithm>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "insight/tables/attention_tables.h"

namespace attn::test {

class Looking {
 public:
  Looking() { std::ifstream(std::string(ATTNSCOPE_GOLDEN) + "/looking.json") >> json_; }

  [[nodiscard]] const nlohmann::json& operator[](const char* name) const { return json_.at(name); }
  [[nodiscard]] nn::Matrix table(const char* name) const {
    const auto rows = json_.at(name).get<std::vector<std::vector<float>>>();
    nn::Matrix out(std::ssize(rows), std::ssize(rows[0]));
    for (std::size_t i = 0; i < rows.size(); ++i)
      std::copy(rows[i].begin(), rows[i].end(), out.row(static_cast<std::int64_t>(i)));
    return out;
  }
  // "a" or "b" as the only head.
  [[nodiscard]] insight::InMemoryTables tables(const std::string& name) const {
    return {{1, 1, table(name.c_str())}, tokens(name), {}};
  }
  [[nodiscard]] std::shared_ptr<const insight::InMemoryTables> shared(const std::string& name) const {
    return std::make_shared<const insight::InMemoryTables>(insight::InMemoryTables::Tables{1, 1, table(name.c_str())},
                                                           tokens(name), std::vector<std::string>{});
  }

 private:
  [[nodiscard]] std::vector<std::string> tokens(const std::string& name) const {
    return json_.at("tokens_" + name).get<std::vector<std::string>>();
  }

  nlohmann::json json_;
};

}  // namespace attn::test
