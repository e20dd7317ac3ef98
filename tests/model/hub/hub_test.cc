#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/model/hub/hub_fixture.h"

namespace attn::test {
namespace {

namespace fs = std::filesystem;
using model::Progress;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST_F(HubPull, LaysFilesOutAsHuggingfaceHubDoes) {
  const fs::path snapshot = pull();
  EXPECT_EQ(snapshot, folder() / "snapshots" / FakeHub::commit());
  expect_whole(snapshot);
  EXPECT_EQ(content_of(folder() / "refs" / "main"), FakeHub::commit());
  const std::set<std::string> wanted = {"config.json", "tokenizer.json", "vocab.txt", kWeights};
  EXPECT_EQ(names_in(snapshot), wanted);
  std::set<std::string> hashes;
  for (const std::string& name : wanted) {
    EXPECT_EQ(fs::read_symlink(snapshot / name), "../../blobs/" + hub_.hash(name));
    hashes.insert(hub_.hash(name));
  }
  EXPECT_EQ(names_in(folder() / "blobs"), hashes);
}

TEST_F(HubPull, SecondPullRequestsOnlyTheList) {
  const fs::path first = pull();
  hub_.forget();
  EXPECT_EQ(pull(), first);
  ASSERT_EQ(hub_.seen().size(), 1U);
  EXPECT_EQ(hub_.seen()[0].path, "/api/models/owner/tiny/revision/main?blobs=true");
}

TEST_F(HubPull, RequestsSizesFromFilesIfTheListHasNone) {
  hub_.set({.lists_sizes = false});
  expect_whole(pull());
  EXPECT_EQ(hub_.count("HEAD"), 4U);
  EXPECT_EQ(hub_.count("HEAD", "/store/"), 0U) << "size and hash of a large file are in the redirect";
  EXPECT_TRUE(fs::exists(folder() / "blobs" / hub_.hash(kWeights)));
}

TEST_F(HubPull, RevisionWithSlashIsEscapedAndStored) {
  const fs::path snapshot = model::pull({"owner/tiny", "refs/pr/1", {}}, settings_);
  EXPECT_EQ(hub_.seen()[0].path, "/api/models/owner/tiny/revision/refs%2Fpr%2F1?blobs=true");
  EXPECT_EQ(content_of(folder() / "refs" / "refs" / "pr" / "1"), FakeHub::commit());
  expect_whole(snapshot);
}

TEST_F(HubPull, FileOfTheWrongLengthIsDownloadedAgain) {
  const fs::path snapshot = pull();
  std::ofstream(snapshot / "vocab.txt", std::ios::app) << "more";
  expect_whole(pull());
}

TEST_F(HubPull, TokenGoesToTheHubAndNeverToTheStore) {
  hub_.set({.lists_sizes = false, .token = "hf_secret"});
  settings_.token = "hf_secret";
  expect_whole(pull());
  EXPECT_EQ(hub_.count("GET", "/store/"), 1U);
  for (const auto& one : hub_.seen()) EXPECT_EQ(one.token, one.at_store ? "" : "Bearer hf_secret") << one.path;
}

TEST_F(HubPull, RenamedModelIsFollowedWithItsToken) {
  hub_.set({.lists_sizes = false, .token = "hf_secret"});
  settings_.token = "hf_secret";
  expect_whole(pull("old/tiny"));
  EXPECT_TRUE(fs::exists(settings_.cache / "models--old--tiny" / "refs" / "main"));
}

TEST_F(HubPull, ShardsOfAnIndexAreDownloaded) {
  hub_.remove(kWeights);
  hub_.add("model.safetensors.index.json",
           R"({"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors", "c": "model-1.safetensors"}})");
  hub_.add("model-1.safetensors", std::string(1000, '1'), FakeHub::Kind::large);
  hub_.add("model-2.safetensors", std::string(2000, '2'), FakeHub::Kind::large);
  hub_.add("model-3.safetensors", "nobody names it", FakeHub::Kind::large);
  const fs::path snapshot = pull();
  EXPECT_EQ(content_of(snapshot / "model-1.safetensors"), hub_.content("model-1.safetensors"));
  EXPECT_EQ(content_of(snapshot / "model-2.safetensors"), hub_.content("model-2.safetensors"));
  EXPECT_TRUE(fs::exists(snapshot / "model.safetensors.index.json"));
  EXPECT_FALSE(fs::exists(snapshot / "model-3.safetensors"));
  hub_.forget();
  (void)pull();
  EXPECT_EQ(hub_.seen().size(), 1U);
}

TEST_F(HubPull, IndexWithPathsOutsideTheFolderIsRefused) {
  hub_.remove(kWeights);
  for (const char* name : {"../../../x.safetensors", "/etc/x.safetensors", "a/b.safetensors", "x.bin", ".safetensors",
                           "..\\\\x.safetensors", "c:x.safetensors", "absent.safetensors"}) {
    if (std::string(name) != "absent.safetensors") hub_.add(name, "evil");
    hub_.add("model.safetensors.index.json", std::string(R"({"weight_map": {"a": ")") + name + "\"}}");
    EXPECT_THAT(message(), HasSubstr("names '")) << name;
    expect_nothing_in_snapshots();
  }
  hub_.add("model.safetensors.index.json", "[]");
  EXPECT_THAT(message(), HasSubstr("is not a shard index"));
}

TEST_F(HubPull, NoSafetensorsExplainsHowToConvert) {
  hub_.remove(kWeights);
  EXPECT_THAT(message(), AllOf(HasSubstr("has no model.safetensors"), HasSubstr("save_pretrained")));
  hub_.remove("config.json");
  EXPECT_THAT(message(), HasSubstr("has no config.json"));
}

TEST_F(HubPull, InvalidNamesAreRefusedWithoutARequest) {
  for (const char* name :
       {"", "/", "a/b/c", "../tiny", "owner/..", "a--b/c", "owner/tiny.git", "-a", "a.", "o w/n", "ä/b"})
    EXPECT_THROW((void)pull(name), std::invalid_argument) << name;
  for (const char* revision : {"", "..", "a/../b", "/main", "a//b", "a\\b", ".hidden", "a b"})
    EXPECT_THROW((void)model::pull({"owner/tiny", revision, {}}, settings_), std::invalid_argument) << revision;
  EXPECT_TRUE(hub_.seen().empty());
}

TEST_F(HubPull, OfflineUsesTheCacheWithoutARequest) {
  settings_.offline = true;
  EXPECT_THAT(message(), AllOf(HasSubstr("not in the cache"), HasSubstr("HF_HUB_OFFLINE")));
  settings_.offline = false;
  const fs::path snapshot = pull();
  hub_.forget();
  settings_.offline = true;
  EXPECT_EQ(pull(), snapshot);
  EXPECT_EQ(model::pull({"owner/tiny", FakeHub::commit(), {}}, settings_), snapshot);
  EXPECT_TRUE(hub_.seen().empty());
}

TEST_F(HubPull, ProgressAddsUp) {
  std::vector<Progress> all;
  const auto keep = [&](const Progress& now) { return all.push_back(now), true; };
  hub_.next("/store/", {.cut = 100'000});
  (void)model::pull({"owner/tiny", "main", keep}, settings_);
  std::int64_t total = 0, last = 0;
  for (const char* name : {"config.json", "tokenizer.json", "vocab.txt", kWeights})
    total += static_cast<std::int64_t>(hub_.content(name).size());
  for (const Progress& now : all) {
    EXPECT_TRUE(now.file.empty() ? now.total == 0 : now.total == total) << now.file;
    EXPECT_LE(now.file_bytes, now.file_total);
    EXPECT_GE(now.bytes, last);
    last = now.bytes;
  }
  EXPECT_EQ(all.back().file, kWeights);
  EXPECT_EQ(all.back().file_bytes, 300'000);
  EXPECT_EQ(all.back().bytes, total);
}

TEST_F(HubPull, StoppedPullKeepsItsPartAndResumes) {
  hub_.add_model(5'000'000);
  const auto stop = [](const Progress& now) { return now.bytes < 1'000'000; };
  const std::string words = error_of([&] { (void)model::pull({"owner/tiny", "main", stop}, settings_); }).what();
  EXPECT_THAT(words, HasSubstr("stopped"));
  const auto there = fs::file_size(partial());
  EXPECT_GT(there, 900'000U);
  EXPECT_LT(there, 5'000'000U);
  expect_nothing_in_snapshots();
  expect_whole(pull());
  EXPECT_EQ(hub_.seen().back().range, "bytes=" + std::to_string(there) + "-");
}

TEST_F(HubPull, ExceptionsOfProgressPropagate) {
  const auto fail = [](const Progress& now) -> bool {
    return now.bytes < 100'000 ? true : throw std::out_of_range("mine");
  };
  EXPECT_THROW((void)model::pull({"owner/tiny", "main", fail}, settings_), std::out_of_range);
  expect_whole(pull());
}

TEST_F(HubPull, ConcurrentPullsDownloadEachFileOnce) {
  hub_.add_model(3'000'000);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([this] { expect_whole(pull()); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(hub_.count("GET", "/store/"), 1U);
  EXPECT_EQ(hub_.count("GET", "vocab.txt"), 1U);
  EXPECT_EQ(names_in(folder() / "blobs").size(), 4U);
}

TEST_F(HubPull, BlobsOfAnotherRevisionAreReused) {
  const fs::path snapshot = pull();
  fs::remove_all(snapshot);
  hub_.forget();
  expect_whole(pull());
  EXPECT_EQ(hub_.seen().size(), 1U);
}

}  // namespace
}  // namespace attn::test
