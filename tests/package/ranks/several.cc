// several.cc - attention on several processes: each has some of the queries, keys and values.
#include <attn/mpi.h>
#include <attn/ring.h>

#include <cstdio>
#include <vector>

int main() {
  MPI_Init(nullptr, nullptr);
  {
    // Four queries and keys; the first query gives 16.04 and 3.96, and no query sees the last key.
    const float q[] = {1, 0, 0, 0, 0, 0, 0, 0}, k[] = {1, 0, 0, 1, 1, 0, 9, 9}, v[] = {10, 0, 0, 20, 30, 0, 9, 9};
    const std::unique_ptr<attn::Ranks> ranks = attn::mpi_ranks(MPI_COMM_WORLD);
    std::vector<float> mine[3];
    for (const attn::Stretch& half : attn::RingSplit(4, ranks->size()).of(ranks->rank())) {
      const float* all[] = {q, k, v};
      for (int n = 0; n < 3; ++n) mine[n].insert(mine[n].end(), all[n] + 2 * half.begin, all[n] + 2 * half.end);
    }
    const attn::Shape<4> shape{1, 1, attn::RingSplit(4, ranks->size()).size(ranks->rank()), 2};
    const attn::View<const float, 4> queries(mine[0].data(), shape), keys(mine[1].data(), shape),
        values(mine[2].data(), shape);
    std::vector<float> out(mine[0].size());
    attn::Options options;
    options.mask = attn::Padding{{3}};
    attn::ThreadPool pool(1);
    attn::ring_attention({queries, keys, values}, options, {*ranks, 4, 4}, {out.data(), shape}, {}, pool);
    if (ranks->rank() == 0) std::printf("%.2f %.2f\n", out[0], out[1]);
  }
  MPI_Finalize();
}
