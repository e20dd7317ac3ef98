// tests/engine/kernels/tile_statistics_test.cc - sums over blocks of weights against the same in double.
#include "engine/kernels/attention/tile_statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <vector>

#include "tests/support/random.h"
#include "tests/support/targets.h"

namespace attn::kernels {
namespace {

struct Sums {
  std::vector<RowStatistics> rows;
  std::vector<double> received;
};

struct Table {
  std::int64_t rows = 0, columns = 0;
  std::vector<float> weights;  // [rows, columns]

  [[nodiscard]] float at(std::int64_t i, std::int64_t j) const {
    return weights[static_cast<std::size_t>(i * columns + j)];
  }
};

Table random_table(std::int64_t rows, std::int64_t columns) {
  test::Random random(static_cast<std::uint64_t>(rows * 10'000 + columns));
  Table table{rows, columns, {}};
  for (std::int64_t n = 0; n < rows * columns; ++n) {
    // Weights of all magnitudes, and 0.
    table.weights.push_back(random.chance(0.2) ? 0.0F : static_cast<float>(std::exp2(-random.uniform(0, 100))));
  }
  return table;
}

Sums nothing(const Table& table) {
  return {std::vector<RowStatistics>(static_cast<std::size_t>(table.rows)),
          std::vector<double>(static_cast<std::size_t>(table.columns))};
}

// One block with queries from `query` on and keys from `key` on.
Sums statistics_of(const Table& table, std::int64_t query, std::int64_t key, std::int64_t beyond) {
  Sums sums = nothing(table);
  tile_statistics({{table.weights.data(), table.columns},
                   table.rows,
                   table.columns,
                   query,
                   key,
                   beyond,
                   sums.rows.data(),
                   sums.received.data()});
  return sums;
}

Sums expected_of(const Table& table, std::int64_t query, std::int64_t key, std::int64_t beyond) {
  Sums sums = nothing(table);
  for (std::int64_t i = 0; i < table.rows; ++i) {
    RowStatistics& row = sums.rows[static_cast<std::size_t>(i)];
    for (std::int64_t j = 0; j < table.columns; ++j) {
      const double p = table.at(i, j);
      const auto away = static_cast<double>(std::abs(query + i - (key + j)));
      row.mass += p;
      row.entropy -= p > 0 ? p * std::log(p) : 0;
      row.distance += p * away;
      row.beyond += away > static_cast<double>(beyond) ? p : 0;
      sums.received[static_cast<std::size_t>(j)] += p;
    }
  }
  return sums;
}

void expect_close(const Sums& got, const Sums& right) {
  const auto near = [](double a, double b, double unit) { EXPECT_NEAR(a, b, 2e-6 * unit + 1e-30); };
  for (std::size_t i = 0; i < right.rows.size(); ++i) {
    near(got.rows[i].mass, right.rows[i].mass, right.rows[i].mass);
    near(got.rows[i].entropy, right.rows[i].entropy, right.rows[i].entropy + right.rows[i].mass);
    near(got.rows[i].distance, right.rows[i].distance, right.rows[i].distance);
    near(got.rows[i].beyond, right.rows[i].beyond, right.rows[i].beyond);
  }
  for (std::size_t j = 0; j < right.received.size(); ++j) near(got.received[j], right.received[j], right.received[j]);
}

TEST(TileStatistics, SumsAgreeWithDoublePrecisionAtAnySizeAndPosition) {
  test::on_every_target([](const char* target) {
    SCOPED_TRACE(target);
    for (const std::int64_t columns : {1, 2, 3, 7, 8, 15, 16, 17, 33, 511, 512, 513, 1100}) {
      const Table table = random_table(5, columns);
      for (const std::int64_t key : {0, 40, 5000}) {
        SCOPED_TRACE(testing::Message() << columns << " columns from " << key << " on");
        expect_close(statistics_of(table, 37, key, 16), expected_of(table, 37, key, 16));
      }
    }
  });
}

TEST(TileStatistics, TwoTilesAddUpToOneTable) {
  test::on_every_target([](const char* target) {
    SCOPED_TRACE(target);
    const Table table = random_table(9, 100);
    Sums sums = nothing(table);
    for (const std::int64_t from : {0, 60}) {
      tile_statistics({{table.weights.data() + from, table.columns},
                       9,
                       from == 0 ? 60 : 40,
                       0,
                       from,
                       3,
                       sums.rows.data(),
                       sums.received.data() + from});
    }
    expect_close(sums, expected_of(table, 0, 0, 3));
  });
}

TEST(TileStatistics, UniformRowHasTheLargestEntropyAndOneWeightHasNone) {
  test::on_every_target([](const char* target) {
    SCOPED_TRACE(target);
    Table table{2, 64, std::vector<float>(128, 0)};
    std::fill_n(table.weights.begin(), 64, 1.0F / 64);
    table.weights[64 + 9] = 1;
    const Sums sums = statistics_of(table, 0, 0, 10);
    EXPECT_NEAR(sums.rows[0].entropy, std::log(64.0), 1e-6);
    EXPECT_EQ(sums.rows[1].entropy, 0);
    EXPECT_EQ(sums.rows[1].distance, 8);
    EXPECT_EQ(sums.rows[1].beyond, 0);
    EXPECT_EQ(sums.rows[1].mass, 1);
  });
}

TEST(TileStatistics, DistanceOfExactlyTheLimitIsNotBeyond) {
  test::on_every_target([](const char* target) {
    SCOPED_TRACE(target);
    const Table table{1, 40, std::vector<float>(40, 1)};
    EXPECT_EQ(statistics_of(table, 20, 0, 5).rows[0].beyond, 29);
    EXPECT_EQ(statistics_of(table, 20, 0, 0).rows[0].beyond, 39);
  });
}

TEST(TileStatistics, NanSpoilsItsRowAndColumnOnly) {
  test::on_every_target([](const char* target) {
    SCOPED_TRACE(target);
    for (const std::int64_t bad : {3, 36}) {  // in a vector, and in the remainder after the last one
      Table table{3, 37, std::vector<float>(111, 1.0F / 37)};
      table.weights[static_cast<std::size_t>(37 + bad)] = std::numeric_limits<float>::quiet_NaN();
      const Sums sums = statistics_of(table, 0, 0, 5);
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(std::isnan(sums.rows[i].mass), i == 1);
        EXPECT_EQ(std::isnan(sums.rows[i].entropy), i == 1);
      }
      for (std::size_t j = 0; j < 37; ++j) EXPECT_EQ(std::isnan(sums.received[j]), j == static_cast<std::size_t>(bad));
    }
  });
}

}  // namespace
}  // namespace attn::kernels
