#include "insight/io/table_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "base/new_file.h"
#include "insight/io/table_file.h"
#include "tests/insight/random_rows.h"
#include "tests/support/temporary_folder.h"

namespace attn::insight {
namespace {

std::string written(const AttentionTables& tables, const HeadId& head, TableFormat format) {
  ThreadPool pool(2);
  std::string all;
  write_table(tables, head, format, pool, [&](std::string_view part) { all += part; });
  return all;
}

TEST(TableText, RoundTripsBitForBit) {
  ThreadPool pool(1);
  const InMemoryTables tables = test::RandomRows{.n = 3, .seed = 2}.tables({"a,b", "\"q\"", "[SEP]"});
  const HeadId head{Kind::self, 1, 2};
  const nn::Matrix expected = tables.weights(head, pool);
  const test::TemporaryFolder folder;
  for (const auto& [format, name] : {std::pair{TableFormat::csv, "t.csv"}, {TableFormat::npy, "t.npy"}}) {
    const std::filesystem::path file = folder.path() / name;
    base::write_file(file, written(tables, head, format));
    const TableFile found = read_table(file);
    ASSERT_EQ(found.tables.numbers.rows(), 3) << name;
    EXPECT_TRUE(std::equal(expected.data(), expected.data() + 9, found.tables.numbers.data())) << name;
    if (format == TableFormat::csv) {
      EXPECT_EQ(found.queries, (std::vector<std::string>{"a,b", "\"q\"", "[SEP]"}));
    }
  }
}

TEST(TableText, NumbersHaveAsFewDigitsAsAFloatNeeds) {
  nn::Matrix row(1, 6);
  const float numbers[] = {0, 1, 0.1F, 0.0001F, 1e-5F, 0.33333334F};
  std::copy_n(numbers, 6, row.data());
  EXPECT_EQ(csv_rows(row, named_tokens({"x"})), "x,0,1,0.1,0.0001,1e-05,0.33333334\n");
}

TEST(TableText, LongTablesAreWrittenInStrips) {
  ThreadPool pool(2);
  const InMemoryTables tables = test::RandomRows{.layers = 1, .heads = 1, .n = 2500, .seed = 1}.tables();
  std::int64_t next = 0, parts = 0;
  each_strip(tables, {}, pool, [&](std::int64_t first, const nn::Matrix& part) {
    EXPECT_EQ(first, next);
    EXPECT_LE(part.rows() * part.columns(), 4 << 20);
    next += part.rows();
    ++parts;
  });
  EXPECT_EQ(next, 2500);
  EXPECT_GT(parts, 1);
}

TEST(TableText, NanIsNotWritten) {
  auto table_data = test::RandomRows{.layers = 1, .heads = 1, .n = 4}.table_data();
  table_data.numbers.row(2)[1] = std::numeric_limits<float>::quiet_NaN();
  const InMemoryTables tables(std::move(table_data), {}, {});
  EXPECT_THROW(written(tables, {}, TableFormat::csv), std::runtime_error);
}

}  // namespace
}  // namespace attn::insight
