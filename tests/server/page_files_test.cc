#include "server/http/page_files.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/server/test_page.h"
#include "tests/support/temporary_folder.h"

namespace attn::server {
namespace {

TEST(PageFiles, OfferedAppIsADownloadOfTheWholeFile) {
  const test::TemporaryFolder folder;
  std::string content;
  for (int n = 0; n < 300'000; ++n) content += std::to_string(n);
  PageFiles files = test::test_page();
  EXPECT_EQ(files.response("/attnscope.html").status, 404);
  files.offer_app(folder.write("app", content));
  const Response response = files.response("/attnscope.html");
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.at(0).second, "attachment; filename=\"attnscope.html\"");
  std::string read;
  response.pour([&](std::string_view part) { read += part; });
  EXPECT_TRUE(read == content);
}

}  // namespace
}  // namespace attn::server
