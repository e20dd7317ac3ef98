#include "insight/blocks/map_tile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "insight/blocks/picture.h"
#include "insight/blocks/profile.h"
#include "insight/statistics/statistics.h"
#include "model/recording/recording.h"
#include "tests/insight/random_rows.h"

namespace attn::insight {
namespace {

using test::refusal_of;

// The largest weight of the queries and keys that a cell covers, taken from the whole table.
float cell_of(const nn::Matrix& table, const MapPlace& place, std::int64_t r, std::int64_t c) {
  const std::int64_t side = std::int64_t{1} << place.level;
  const std::int64_t row = (kMapTile * place.row + r) * side, column = (kMapTile * place.column + c) * side;
  float most = 0;
  for (std::int64_t i = row; i < std::min(row + side, table.rows()); ++i)
    for (std::int64_t j = column; j < std::min(column + side, table.columns()); ++j)
      most = std::max(most, table.row(i)[j]);
  return most;
}

TEST(MapTile, EveryCellOnEveryLevelIsTheLargestWeightItCovers) {
  ThreadPool pool(3);
  const InMemoryTables tables = test::RandomRows{.layers = 1, .heads = 2, .n = 700, .seed = 5}.tables();
  const HeadId head{Kind::self, 0, 1};
  const nn::Matrix table = tables.weights(head, pool);
  for (MapPlace place; place.level <= 10; ++place.level) {
    const std::int64_t cells = ((700 - 1) >> place.level) + 1, tiles = (cells + kMapTile - 1) / kMapTile;
    for (place.row = 0; place.row < tiles; ++place.row) {
      for (place.column = 0; place.column < tiles; ++place.column) {
        const nn::Matrix tile = map_tile(tables, head, place, pool);
        ASSERT_EQ(tile.rows(), std::min(kMapTile, cells - kMapTile * place.row));
        ASSERT_EQ(tile.columns(), std::min(kMapTile, cells - kMapTile * place.column));
        ASSERT_EQ(map_tile_shape(tables.stacks()[0], place), (Shape<2>{tile.rows(), tile.columns()}));
        for (std::int64_t r = 0; r < tile.rows(); ++r)
          for (std::int64_t c = 0; c < tile.columns(); ++c)
            ASSERT_EQ(tile.row(r)[c], cell_of(table, place, r, c)) << place.level << " " << r << " " << c;
      }
    }
    place.row = place.column = 0;
  }
}

TEST(MapTile, MaskedCellsAreZero) {
  ThreadPool pool(2);
  const model::Reader reader = model::Reader::load(std::string(ATTNSCOPE_GOLDEN) + "/models/gpt2");
  const model::Text text{"The quick brown fox jumps over the lazy dog.", std::nullopt, std::nullopt};
  const RecordedTables tables(model::read(reader, text, {}, pool));
  const nn::Matrix tile = map_tile(tables, {Kind::self, 1, 0}, {}, pool);
  const nn::Matrix table = tables.weights({Kind::self, 1, 0}, pool);
  ASSERT_EQ(tile.rows(), table.rows());
  for (std::int64_t i = 0; i < table.rows(); ++i)
    for (std::int64_t j = 0; j < table.columns(); ++j) EXPECT_EQ(tile.row(i)[j], table.row(i)[j]);
}

TEST(MapTile, TheLargestNumberIsThatOfTheWholeTable) {
  ThreadPool pool(2);
  for (const std::int64_t n : {1, 300, 700}) {
    const InMemoryTables tables = test::RandomRows{.layers = 1, .heads = 2, .n = n, .seed = 7}.tables();
    const nn::Matrix table = tables.weights({Kind::self, 0, 1}, pool);
    EXPECT_EQ(largest_number(tables, {Kind::self, 0, 1}, pool), *std::max_element(table.data(), table.data() + n * n));
  }
}

TEST(MapTile, RejectsAPlaceOutsideTheMap) {
  ThreadPool pool(1);
  const InMemoryTables tables = test::RandomRows{.n = 300}.tables();
  const auto said = [&](MapPlace place) { return refusal_of([&] { map_tile(tables, {}, place, pool); }); };
  EXPECT_EQ(said({0, 1, 1}), "");
  EXPECT_EQ(said({9, 0, 0}), "");
  EXPECT_EQ(said({10, 0, 0}), "there is no level 10: levels count from 0 to 9");
  EXPECT_EQ(said({0, 2, 0}), "there is no row 2: rows count from 0 to 1");
  EXPECT_EQ(said({1, 0, 1}), "there is no column 1: columns count from 0 to 0");
  EXPECT_EQ(said({-1, 0, 0}), "there is no level -1: levels count from 0 to 9");
  EXPECT_EQ(said({0, -1, 0}), "there is no row -1: rows count from 0 to 1");
}

TEST(MapTile, OneTokenHasOneLevel) {
  ThreadPool pool(1);
  const InMemoryTables tables = test::RandomRows{.n = 1}.tables();
  EXPECT_EQ(map_tile(tables, {}, {}, pool).row(0)[0], 1);
  EXPECT_EQ(refusal_of([&] { map_tile(tables, {}, {1, 0, 0}, pool); }),
            "there is no level 1: levels count from 0 to 0");
}

TEST(Profile, AgreesWithStatistics) {
  ThreadPool pool(3);
  const InMemoryTables tables = test::RandomRows{.layers = 1, .heads = 2, .n = 600, .seed = 9}.tables();
  const std::vector<HeadStatistics> all = statistics(tables, {}, pool);
  for (const HeadStatistics& head : all) {
    const Profile found = profile(tables, head.name, pool);
    ASSERT_EQ(found.received.size(), head.received.size());
    for (std::size_t j = 0; j < found.received.size(); ++j) EXPECT_NEAR(found.received[j], head.received[j], 1e-5);
    double sum = 0;
    for (const float entropy : found.entropy) sum += entropy;
    EXPECT_NEAR(sum / 600, head.entropy, 1e-6);
  }
}

TEST(Profile, HasTheSameBitsForAnyNumberOfThreads) {
  ThreadPool one(1), three(3);
  const InMemoryTables tables = test::RandomRows{.n = 300, .seed = 4}.tables();
  const Profile a = profile(tables, {}, one), b = profile(tables, {}, three);
  EXPECT_EQ(a.received, b.received);
  EXPECT_EQ(a.entropy, b.entropy);
}

TEST(Statistics, PassTheSameBlocksToACallback) {
  ThreadPool pool(2);
  const InMemoryTables tables = test::RandomRows{.n = 600, .causal = true, .seed = 3}.tables();
  std::vector<Shrinking> taken;
  for (const HeadId& head : tables.heads()) taken.emplace_back(tables, head, 64, Reduce::max);
  const auto also = [&](std::int64_t head, Rectangle at, View<const float, 2> block) {
    taken[static_cast<std::size_t>(head)].take(at, block);
  };
  const std::vector<HeadStatistics> with = statistics(tables, {.also = also}, pool);
  const std::vector<HeadStatistics> without = statistics(tables, {}, pool);
  for (std::size_t n = 0; n < with.size(); ++n) {
    EXPECT_EQ(with[n].received, without[n].received);
    const Picture expected = picture(tables, with[n].name, 64, Reduce::max, pool), found = taken[n].finish();
    EXPECT_TRUE(std::equal(found.cells.data(), found.cells.data() + 64 * 64, expected.cells.data())) << n;
  }
}

}  // namespace
}  // namespace attn::insight
