// Every fuzz target over its seeds: examples, and inputs that once broke something.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/fuzz/fuzz.h"

namespace attn::fuzz {
namespace {

class Seeds : public testing::TestWithParam<Target> {};

TEST_P(Seeds, EndWithoutAFinding) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(ATTNSCOPE_SEEDS) + "/" + GetParam().name)) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    EXPECT_NO_THROW(GetParam().run(bytes));
    ++count;
  }
  EXPECT_GT(count, 0);
}

INSTANTIATE_TEST_SUITE_P(Targets, Seeds, testing::ValuesIn(targets().begin(), targets().end()),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace attn::fuzz
