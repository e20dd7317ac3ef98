#include "server/routes/offline.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "tests/insight/random_rows.h"
#include "tests/server/test_page.h"

namespace attn::server {
namespace {

using insight::InMemoryTables;
using nlohmann::json;

StoredRecording stored_of(const test::RandomRows& rows) {
  return {"1", "tables",
          std::make_shared<InMemoryTables>(rows.table_data(), std::vector<std::string>{}, std::vector<std::string>{})};
}

// The data as the page unpacks it.
struct Unpacked {
  explicit Unpacked(const std::string& data) {
    std::uint32_t length = 0;
    std::memcpy(&length, data.data(), sizeof(length));
    header = json::parse(data.substr(4, length));
    bytes = data.substr(4 + length);
    for (const json& block : header["blocks"]) blocks[block["name"]] = block;
  }
  // The weights of a block.
  [[nodiscard]] std::vector<double> weights(const std::string& name) const {
    const json& block = blocks.at(name);
    const std::vector<std::size_t> shape = block["shape"];
    std::size_t count = 1, at = block["offset"];
    for (const std::size_t size : shape) count *= size;
    std::vector<double> out;
    for (std::size_t n = 0; n < count; ++n) {
      double root = static_cast<unsigned char>(bytes.at(at++));
      if (block["bits"] == 16) root += 256.0 * static_cast<unsigned char>(bytes.at(at++));
      root /= block["bits"] == 16 ? 65535 : 255;
      out.push_back(root * root);
    }
    return out;
  }

  json header;
  std::string bytes;
  std::map<std::string, json> blocks;
};

void expect_tables(const StoredRecording& stored, const Unpacked& found, double within) {
  ThreadPool pool(1);
  for (const insight::HeadId& head : stored.stored_tables(false).tables().heads()) {
    const nn::Matrix table = stored.stored_tables(false).tables().weights(head, pool);
    const std::vector<double> weights =
        found.weights("head/self/" + std::to_string(head.layer) + "/" + std::to_string(head.head));
    ASSERT_EQ(std::ssize(weights), table.rows() * table.columns());
    for (std::size_t n = 0; n < weights.size(); ++n) ASSERT_NEAR(weights[n], table.data()[n], within);
  }
}

TEST(Offline, ASmallRecordingTakesSixteenBits) {
  ThreadPool pool(2);
  const StoredRecording stored = stored_of({.layers = 2, .heads = 3, .n = 20});
  const Unpacked found(offline_data(stored, false, pool));
  EXPECT_EQ(found.blocks.at("head/self/1/2")["bits"], 16);
  EXPECT_EQ(found.blocks.at("thumbnails/self")["shape"], (std::vector{6, 20, 20}));
  EXPECT_EQ(found.header["facts"]["heads"].size(), 6U);
  expect_tables(stored, found, 1.6e-5);
}

TEST(Offline, ALargerRecordingTakesEightBits) {
  ThreadPool pool(2);
  const StoredRecording stored = stored_of({.layers = 2, .heads = 4, .n = 310});  // 768,800 weights
  const Unpacked found(offline_data(stored, false, pool));
  EXPECT_EQ(found.blocks.at("head/self/0/0")["bits"], 8);
  expect_tables(stored, found, 0.004);
  EXPECT_EQ(found.blocks.at("thumbnails/self")["shape"], (std::vector{8, 64, 64}));
}

TEST(Offline, AVeryLargeRecordingKeepsTheMostInterestingHeadsThatFit) {
  ThreadPool pool(2);
  const StoredRecording stored = stored_of({.layers = 3, .heads = 6, .n = 1000});  // 18 million weights
  const Unpacked found(offline_data(stored, false, pool));
  const json& facts = found.header["facts"];
  EXPECT_EQ(found.blocks.size(), 1U + 16);
  for (std::size_t place = 0; place < 18; ++place) {
    const json& head = facts["heads"][static_cast<std::size_t>(facts["ranking"][place])];
    const std::string name = "head/self/" + head["layer"].dump() + "/" + head["head"].dump();
    EXPECT_EQ(found.blocks.count(name), place < 16 ? 1U : 0U) << name;
  }
}

TEST(Offline, DataReplacesThePlaceholderOfThePage) {
  ThreadPool pool(1);
  const std::string page =
      offline_page(test::test_page().offline(), stored_of({.n = 4}), {"view=heads&x=\"<", false}, pool);
  const std::string begin =
      "<script id=\"attnscope-data\" type=\"text/plain\" data-state=\"view=heads&amp;x=&quot;&lt;\">";
  const std::size_t at = page.find(begin);
  ASSERT_NE(at, std::string::npos) << page;
  const std::size_t from = at + begin.size(), to = page.find("</script>", from);
  EXPECT_EQ(page.substr(to), "</script><script type=\"module\">alert(1)</script></body></html>");
  EXPECT_EQ(page.substr(from, to - from)
                .find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="),
            std::string::npos);
  EXPECT_EQ(page.find("<!--"), std::string::npos);
}

// The hash was made by: printf 'alert(1)' | openssl dgst -sha256 -binary | base64
TEST(Offline, OnlyThePagesOwnScriptMayRun) {
  ThreadPool pool(1);
  const std::string page = offline_page(test::test_page().offline(), stored_of({.n = 4}), {}, pool);
  EXPECT_NE(page.find("<head><meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src "
                      "'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='; "),
            std::string::npos)
      << page;
}

TEST(Offline, WithoutAPageTheErrorIsClear) {
  ThreadPool pool(1);
  for (const char* page : {"", "<head></head>", "<!--attnscope-data--><head>"}) {
    EXPECT_THROW(static_cast<void>(offline_page(page, stored_of({.n = 4}), {}, pool)), std::runtime_error) << page;
  }
}

}  // namespace
}  // namespace attn::server
