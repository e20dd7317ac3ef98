// Files of the user, from their pieces to what the page shows of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/read_file.h"
#include "insight/tables/attention_tables.h"
#include "model/recording/recording_file.h"
#include "server/routes/api.h"
#include "tests/support/temporary_folder.h"

namespace attn::server {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

const std::string kModel = std::string(ATTNSCOPE_GOLDEN) + "/models/bert";

class FilesOfTheUser : public testing::Test {
 protected:
  Response request(const std::string& method, const std::string& path, const Query& query, std::string body) {
    return Api(store_).response({.method = method, .path = "/api" + path, .query = query, .body = std::move(body)});
  }
  // In two pieces, if there are two bytes.
  void put(const std::string& folder, const std::string& name, const std::string& bytes) {
    const std::size_t half = bytes.size() / 2;
    ASSERT_EQ(request("PUT", "/files/" + folder, {{"name", name}, {"offset", "0"}}, bytes.substr(0, half)).status, 200);
    ASSERT_EQ(request("PUT", "/files/" + folder, {{"name", name}, {"offset", std::to_string(half)}}, bytes.substr(half))
                  .status,
              200);
  }
  void put_model(const std::string& folder) {
    for (const auto& file : fs::directory_iterator(kModel))
      if (is_plain_file_name(file.path().filename().string()))
        put(folder, file.path().filename().string(), base::read_file(file.path()));
  }
  json opened(const std::string& folder, const std::string& name) {
    const Response response = request("POST", "/files/" + folder + "/open", {}, json{{"name", name}}.dump());
    EXPECT_EQ(response.status, 200) << *response.body;
    return json::parse(*response.body);
  }
  std::string refused(const std::string& folder, const std::string& body = R"({"name": "x"})") {
    const Response response = request("POST", "/files/" + folder + "/open", {}, body);
    EXPECT_EQ(response.status, 400);
    return json::parse(*response.body)["error"];
  }

  std::shared_ptr<ThreadPool> pool_ = std::make_shared<ThreadPool>(2);
  RecordingStore store_{[this] { return pool_; }, 1 << 20};
};

TEST_F(FilesOfTheUser, ModelReadsTexts) {
  put_model("1");
  EXPECT_EQ(opened("1", "mine"), (json{{"kind", "model"}, {"model", "mine"}}));
  const Response made =
      request("POST", "/recordings", {}, json{{"model", "mine"}, {"text", "The quick brown fox."}}.dump());
  EXPECT_EQ(made.status, 200) << *made.body;
}

TEST_F(FilesOfTheUser, SecondModelOfANameIsNumberedAndTheSameFolderReplacesItself) {
  put_model("1");
  put_model("2");
  EXPECT_EQ(opened("1", "mine")["model"], "mine");
  EXPECT_EQ(opened("2", "mine")["model"], "mine (2)");
  EXPECT_EQ(opened("1", "mine")["model"], "mine");
  EXPECT_EQ(store_.models().cards().size(), 2U);
}

TEST_F(FilesOfTheUser, RecordingOpensUnderTheIdOfItsFolder) {
  const model::Reader reader = model::Reader::load(kModel);
  const model::Recording recording = model::read(reader, {"The quick brown fox.", {}, {}}, {}, *pool_);
  std::string bytes;
  model::write_recording(recording, [&](std::string_view part) { bytes += part; });
  put("12", "fox.attn", bytes);
  EXPECT_EQ(opened("12", "fox"), (json{{"kind", "recording"}, {"id", "file-12"}}));
  EXPECT_EQ(opened("12", "fox again")["id"], "file-12") << "opened twice, it replaces itself";
  ASSERT_EQ(store_.recordings().size(), 1U);
  EXPECT_EQ(store_.find("file-12")->name(), "fox again");
}

TEST_F(FilesOfTheUser, TableOpens) {
  put("1", "t.csv", "0.5,0.5\n0.25,0.75\n");
  EXPECT_EQ(opened("1", "t")["id"], "file-1");
  EXPECT_EQ(store_.find("file-1")->tokens(), 2);
}

TEST_F(FilesOfTheUser, MessagesNameTheFileAsTheUserKnowsIt) {
  put("1", "config.json", "{\"model_type\": \"bert\"");
  EXPECT_THAT(refused("1"), testing::StartsWith("config.json"));
  put("2", "x.attn", "nothing that could be a recording");
  EXPECT_THAT(refused("2"), testing::StartsWith("x.attn"));
  put("3", "t.csv", "1,2\nx,y\n");
  EXPECT_THAT(refused("3"), testing::Not(HasSubstr("/")));
}

TEST_F(FilesOfTheUser, ModelWithoutATokenizerIsNotAdded) {
  for (const char* file : {"config.json", "model.safetensors"}) put("1", file, base::read_file(kModel + "/" + file));
  EXPECT_THAT(refused("1"), HasSubstr("tokenizer"));
  EXPECT_TRUE(store_.models().cards().empty());
}

TEST_F(FilesOfTheUser, OtherFilesAreRefusedWithWhatWouldBeRight) {
  put("1", "picture.png", "PNG");
  EXPECT_THAT(refused("1"), HasSubstr(".attn"));
  put("2", "a.npy", "");
  put("2", "b.npy", "");
  EXPECT_THAT(refused("2"), HasSubstr("neither a recording"));
}

TEST_F(FilesOfTheUser, BadBodiesAreRefused) {
  put("1", "t.csv", "1\n");
  EXPECT_THAT(refused("1", "{}"), HasSubstr("name"));
  EXPECT_THAT(refused("1", R"({"name": ""})"), HasSubstr("empty"));
  EXPECT_THAT(refused("1", R"({"name": 3})"), HasSubstr("name"));
  EXPECT_EQ(request("POST", "/files/9/open", {}, R"({"name": "x"})").status, 404);
  EXPECT_EQ(request("POST", "/files/x/open", {}, R"({"name": "x"})").status, 400);
  EXPECT_EQ(request("PUT", "/files/1", {{"name", "a"}}, "x").status, 400) << "without an offset";
  EXPECT_EQ(request("PUT", "/files/1", {{"name", "a"}, {"offset", "-1"}}, "x").status, 409);
}

}  // namespace
}  // namespace attn::server
