// tests/model/hub/hub_fixture.h - a fake hub with a model, an empty cache, and short timeouts.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "model/hub/hub.h"
#include "tests/model/hub/fake_hub.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace attn::test {

inline std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  if (std::filesystem::exists(folder))
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      names.insert(entry.path().filename().string());
  return names;
}

class HubPull : public testing::Test {
 protected:
  HubPull() {
    hub_.add_model();
    settings_.endpoint = hub_.endpoint();
    settings_.cache = cache_.path() / "hub";
    settings_.patience = {3, std::chrono::milliseconds(1), std::chrono::milliseconds(20),
                          std::chrono::milliseconds(5000)};
  }

  std::filesystem::path pull(const std::string& name = "owner/tiny") {
    return model::pull({name, "main", {}}, settings_);
  }
  std::string message(const std::string& name = "owner/tiny") {
    return error_of([&] { (void)pull(name); }).what();
  }

  std::filesystem::path folder() const { return settings_.cache / "models--owner--tiny"; }
  std::filesystem::path partial() const { return folder() / "blobs" / (hub_.hash(kWeights) + ".incomplete"); }
  void expect_whole(const std::filesystem::path& snapshot) const {
    for (const char* name : {"config.json", "tokenizer.json", "vocab.txt", kWeights})
      EXPECT_EQ(content_of(snapshot / name), hub_.content(name)) << name;
  }
  void expect_nothing_in_snapshots() const { EXPECT_THAT(names_in(folder() / "snapshots"), testing::IsEmpty()); }

  static constexpr const char* kWeights = "model.safetensors";
  TemporaryFolder cache_;
  FakeHub hub_;
  model::HubSettings settings_;
};

}  // namespace attn::test
