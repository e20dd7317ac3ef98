#include "model/hub/hub_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "model/hub/hub.h"
#include "model/hub/hub_hash.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace attn::test {
namespace {

namespace fs = std::filesystem;
using model::HubSettings;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

// ---- hashes ----

TEST(HubHash, KnownHashes) {
  const TemporaryFolder folder;
  const fs::path abc = folder.path() / "abc", hello = folder.path() / "hello", empty = folder.path() / "empty";
  write(abc, "abc");
  write(hello, "hello\n");
  write(empty, "");
  EXPECT_EQ(model::sha256_of_file(abc), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(model::git_sha1_of_file(hello), "ce013625030ba8dba906f756967f9e9ca394464a");  // git hash-object
  EXPECT_EQ(model::git_sha1_of_file(empty), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  EXPECT_THAT(error_of([&] { (void)model::sha256_of_file(folder.path() / "absent"); }).what(), HasSubstr("absent"));
}

TEST(HubHash, OnlyLowerCaseHexadecimalDigitsAreAHash) {
  EXPECT_TRUE(model::is_git_sha1(std::string(40, 'f')));
  EXPECT_TRUE(model::is_sha256(std::string(64, '0')));
  EXPECT_FALSE(model::is_git_sha1(std::string(40, 'F')));
  EXPECT_FALSE(model::is_git_sha1(std::string(39, 'f')));
  EXPECT_FALSE(model::is_sha256("../" + std::string(61, '0')));
}

// ---- names ----

TEST(HubNames, AreThoseThatHuggingfaceHubAccepts) {
  for (const char* name : {"gpt2", "owner/name", "123", "Foo-BAR_foo.bar123", "_a/b_", "a", "a.b/c.d"})
    EXPECT_TRUE(model::is_model_name(name)) << name;
  for (const char* name : {"", "/", "a/", "/a", "a/b/c", ".a", "a.", "-a", "a-", "a--b", "a..b", "foo.git", "a b",
                           "a\\b", "caf\xc3\xa9", "a/b/", "a/-b"})
    EXPECT_FALSE(model::is_model_name(name)) << name;
  EXPECT_TRUE(model::is_model_name(std::string(96, 'a') + "/" + std::string(96, 'b')));
  EXPECT_FALSE(model::is_model_name(std::string(97, 'a')));
}

// ---- contents of the cache ----

class HubCache : public testing::Test {
 protected:
  HubCache() { settings_.cache = folder_.path() / "hub"; }

  static std::string commit(char digit) { return std::string(40, digit); }
  fs::path add(const std::string& folder, const std::string& commit, const std::string& file = "config.json") {
    const fs::path snapshot = settings_.cache / folder / "snapshots" / commit;
    write(snapshot / file, "{}");
    return snapshot;
  }
  std::string message(const std::string& name) {
    return error_of([&] { (void)model::find_model(name, settings_); }).what();
  }

  TemporaryFolder folder_;
  HubSettings settings_;
};

TEST_F(HubCache, FolderWithConfigIsUsedAsIs) {
  write(folder_.path() / "mine" / "config.json", "{}");
  EXPECT_EQ(model::find_model((folder_.path() / "mine").string(), settings_), folder_.path() / "mine");
}

TEST_F(HubCache, NameIsFoundByTheCommitOfMain) {
  const fs::path a = add("models--owner--name", commit('a'));
  (void)add("models--owner--name", commit('b'));
  write(settings_.cache / "models--owner--name" / "refs" / "main", commit('a'));
  EXPECT_EQ(model::find_model("owner/name", settings_), a);
  const fs::path single = add("models--gpt2", commit('c'));
  write(settings_.cache / "models--gpt2" / "refs" / "main", commit('c') + "\n");
  EXPECT_EQ(model::find_model("gpt2", settings_), single);
}

TEST_F(HubCache, NewestSnapshotIsFoundWithoutMain) {
  const fs::path a = add("models--gpt2", commit('a')), b = add("models--gpt2", commit('b'));
  (void)add("models--gpt2", commit('c'), "vocab.txt");
  const auto now = fs::file_time_type::clock::now();
  fs::last_write_time(a, now - std::chrono::hours(1));
  fs::last_write_time(b, now - std::chrono::hours(2));
  EXPECT_EQ(model::find_model("gpt2", settings_), a);
  write(folder_.path() / "elsewhere" / "config.json", "{}");
  for (const std::string& ref : {commit('d'), std::string("../../../elsewhere"), std::string()}) {
    write(settings_.cache / "models--gpt2" / "refs" / "main", ref);
    EXPECT_EQ(model::find_model("gpt2", settings_), a) << ref;
  }
}

TEST_F(HubCache, MissingModelNamesBothPlacesAndHowToDownloadIt) {
  EXPECT_THAT(message("owner/name"), AllOf(HasSubstr("owner/name: no such folder"), HasSubstr(settings_.cache.string()),
                                           HasSubstr("attnscope pull owner/name")));
  EXPECT_THAT(message("./not/a/name"), AllOf(HasSubstr("no such folder"), Not(HasSubstr("pull"))));
}

TEST_F(HubCache, FolderWithoutConfigNamesWhatIsMissing) {
  fs::create_directories(folder_.path() / "empty");
  EXPECT_THAT(message((folder_.path() / "empty").string()), HasSubstr("a folder without config.json"));
  write(folder_.path() / "model.safetensors", "");
  EXPECT_THAT(message((folder_.path() / "model.safetensors").string()), HasSubstr("a file; pass the model's folder"));
}

TEST_F(HubCache, ListsModelsByName) {
  EXPECT_TRUE(model::cached_models(settings_).empty());
  const fs::path z = add("models--zoo--z", commit('a')), a = add("models--a", commit('b'));
  write(settings_.cache / "models--a" / "refs" / "main", commit('b'));
  (void)add("models--broken", commit('c'), "vocab.txt");
  (void)add("datasets--owner--text", commit('d'));
  (void)add("models--x--y--z", commit('e'));
  write(settings_.cache / "CACHEDIR.TAG", "");
  const auto models = model::cached_models(settings_);
  ASSERT_EQ(models.size(), 2U);
  EXPECT_EQ(models[0].name, "a");
  EXPECT_EQ(models[0].revision, "main");
  EXPECT_EQ(models[0].folder, a);
  EXPECT_EQ(models[1].name, "zoo/z");
  EXPECT_EQ(models[1].revision, commit('a'));
  EXPECT_EQ(models[1].folder, z);
}

TEST_F(HubCache, BrokenLinkIsNotAConfig) {
  const fs::path snapshot = add("models--a", commit('a'), "vocab.txt");
  fs::create_symlink("../../blobs/gone", snapshot / "config.json");
  EXPECT_TRUE(model::cached_models(settings_).empty());
}

// ---- the environment ----

class HubEnvironment : public testing::Test {
 protected:
  HubEnvironment() {
    for (const char* name : kNames) {
      if (const char* value = std::getenv(name)) before_[name] = value;
      ::unsetenv(name);
    }
    set("HOME", folder_.path().string());
  }
  ~HubEnvironment() override {
    for (const char* name : kNames) {
      const auto value = before_.find(name);
      value == before_.end() ? ::unsetenv(name) : ::setenv(name, value->second.c_str(), 1);
    }
  }
  static void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }
  static HubSettings read() { return HubSettings::from_environment(); }

  static constexpr const char* kNames[] = {"HOME",           "XDG_CACHE_HOME",
                                           "HF_HOME",        "HF_HUB_CACHE",
                                           "HF_ENDPOINT",    "HUGGINGFACE_HUB_CACHE",
                                           "HF_TOKEN",       "HUGGING_FACE_HUB_TOKEN",
                                           "HF_TOKEN_PATH",  "HF_HUB_DISABLE_IMPLICIT_TOKEN",
                                           "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE",
                                           "HUB_TEST_PLACE", "HF_HUB_DOWNLOAD_TIMEOUT"};
  TemporaryFolder folder_;
  std::map<std::string, std::string> before_;
};

TEST_F(HubEnvironment, EmptyMeansDefaults) {
  EXPECT_EQ(read().endpoint, "https://huggingface.co");
  EXPECT_EQ(read().cache, folder_.path() / ".cache" / "huggingface" / "hub");
  EXPECT_EQ(read().token, "");
  EXPECT_FALSE(read().offline);
}

TEST_F(HubEnvironment, MostSpecificCacheVariableWins) {
  set("XDG_CACHE_HOME", "/xdg");
  EXPECT_EQ(read().cache, "/xdg/huggingface/hub");
  set("HF_HOME", "~/hf");
  EXPECT_EQ(read().cache, folder_.path() / "hf" / "hub");
  set("HUGGINGFACE_HUB_CACHE", "/old");
  EXPECT_EQ(read().cache, "/old");
  set("HUB_TEST_PLACE", "place");
  set("HF_HUB_CACHE", "/new/$HUB_TEST_PLACE/${HUB_TEST_PLACE}s/$NOT_SET_ANYWHERE/${HUB_TEST_PLACE");
  EXPECT_EQ(read().cache, "/new/place/places/$NOT_SET_ANYWHERE/${HUB_TEST_PLACE");
}

TEST_F(HubEnvironment, EndpointLosesItsTrailingSlash) {
  set("HF_ENDPOINT", "http://mirror:8080/hub/");
  EXPECT_EQ(read().endpoint, "http://mirror:8080/hub");
}

TEST_F(HubEnvironment, TokenComesFromVariablesThenFromItsFile) {
  write(folder_.path() / ".cache" / "huggingface" / "token", "from_file\n");
  EXPECT_EQ(read().token, "from_file");
  write(folder_.path() / "elsewhere", "  from_path\r\n");
  set("HF_TOKEN_PATH", "~/elsewhere");
  EXPECT_EQ(read().token, "from_path");
  set("HUGGING_FACE_HUB_TOKEN", "old");
  EXPECT_EQ(read().token, "old");
  set("HF_TOKEN", " new\n");
  EXPECT_EQ(read().token, "new");
  set("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1");
  EXPECT_EQ(read().token, "");
}

TEST_F(HubEnvironment, OfflineIsOneOnYesOrTrue) {
  for (const char* yes : {"1", "ON", "on", "Yes", "TRUE"}) {
    set("HF_HUB_OFFLINE", yes);
    EXPECT_TRUE(read().offline) << yes;
  }
  for (const char* no : {"0", "", "off", "2"}) {
    set("HF_HUB_OFFLINE", no);
    EXPECT_FALSE(read().offline) << no;
  }
  ::unsetenv("HF_HUB_OFFLINE");
  set("TRANSFORMERS_OFFLINE", "1");
  EXPECT_TRUE(read().offline);
}

TEST_F(HubEnvironment, TimeoutIsInSeconds) {
  EXPECT_EQ(read().patience.timeout, std::chrono::seconds(10));
  set("HF_HUB_DOWNLOAD_TIMEOUT", "30");
  EXPECT_EQ(read().patience.timeout, std::chrono::seconds(30));
  set("HF_HUB_DOWNLOAD_TIMEOUT", "soon");
  EXPECT_EQ(read().patience.timeout, std::chrono::seconds(10));
}

}  // namespace
}  // namespace attn::test
