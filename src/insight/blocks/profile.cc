#include "insight/blocks/profile.h"

#include <algorithm>
#include <cmath>

#include "base/parallel_for.h"
#include "engine/kernels/attention/tile_statistics.h"
#include "insight/blocks/blocks.h"

namespace attn::insight {

Profile profile(const AttentionTables& tables, const HeadId& head, ThreadPool& pool) {
  constexpr std::int64_t kBands = 8;  // enough for the threads of most machines; each band needs M sums
  tables.check(head);
  const AttentionStack& all = tables.stack(head.kind);
  std::vector<kernels::RowStatistics> rows(static_cast<std::size_t>(all.queries));
  std::vector<std::vector<double>> received(kBands, std::vector<double>(static_cast<std::size_t>(all.keys)));
  base::parallel_for(kBands, {}, pool, [&](std::int64_t band) {
    const std::int64_t from = band * all.queries / kBands, to = (band + 1) * all.queries / kBands;
    if (from == to) return;
    std::vector<double>& sums = received[static_cast<std::size_t>(band)];
    each_block(tables, head, from, to - from, [&](Rectangle at, View<const float, 2> block) {
      kernels::tile_statistics({.weights = {block.data, block.strides[0]},
                                .rows = block.shape[0],
                                .columns = block.shape[1],
                                .query = at.row,
                                .key = at.col,
                                .by_row = rows.data() + at.row,
                                .received = sums.data() + at.col});
    });
  });
  Profile out;
  for (std::size_t j = 0; j < received.front().size(); ++j) {
    double sum = 0;
    for (const std::vector<double>& band : received) sum += band[j];
    out.received.push_back(static_cast<float>(sum));
  }
  const bool shares = tables.numbers() == Numbers::weights;
  for (const kernels::RowStatistics& row : rows) {
    // -sum (x / s) log (x / s) = -(sum x log x) / s + log s
    const double entropy = shares || row.mass <= 0 ? row.entropy : row.entropy / row.mass + std::log(row.mass);
    out.entropy.push_back(static_cast<float>(entropy));
  }
  return out;
}

}  // namespace attn::insight
