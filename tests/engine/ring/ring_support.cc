#include "tests/engine/ring/ring_support.h"

#include <cstring>
#include <vector>

namespace attn::test {
namespace {

// Positions of a rank's rows in the whole.
std::vector<std::int64_t> rows_of(const RingSplit& split, int rank) {
  std::vector<std::int64_t> rows;
  for (const Stretch& half : split.of(rank)) {
    for (std::int64_t i = half.begin; i < half.end; ++i) rows.push_back(i);
  }
  return rows;
}

Tensor part_of(const AnyView<4>& whole, const RingSplit& split, int rank) {
  const std::vector<std::int64_t> rows = rows_of(split, rank);
  Tensor part({whole.shape[0], whole.shape[1], std::ssize(rows), whole.shape[3]}, whole.type);
  for (std::int64_t b = 0; b < whole.shape[0]; ++b)
    for (std::int64_t h = 0; h < whole.shape[1]; ++h)
      for (std::size_t i = 0; i < rows.size(); ++i)
        for (std::int64_t d = 0; d < whole.shape[3]; ++d)
          part.set({b, h, static_cast<std::int64_t>(i), d}, element(whole, {b, h, rows[i], d}));
  return part;
}

// Puts the rows of all ranks in their places in the whole.
void put_together(const Tensor& part, const RingSplit& split, Ranks& ranks, Tensor& whole) {
  const std::vector<std::byte>& bytes = part.bytes();
  const std::vector<std::string> all = ranks.gather({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const std::string& theirs = all[static_cast<std::size_t>(rank)];
    const std::vector<std::int64_t> rows = rows_of(split, rank);
    const Shape<4> shape{whole.shape()[0], whole.shape()[1], std::ssize(rows), whole.shape()[3]};
    std::size_t at = 0;
    for (std::int64_t b = 0; b < shape[0]; ++b)
      for (std::int64_t h = 0; h < shape[1]; ++h)
        for (const std::int64_t i : rows)
          for (std::int64_t d = 0; d < shape[3]; ++d, at += sizeof(float)) {
            float number = 0;
            std::memcpy(&number, theirs.data() + at, sizeof number);
            whole.set({b, h, i, d}, number);
          }
  }
}

// lse is stored as [1, B, H, N]; this view has one row per query.
void put_lse_together(const Tensor& part, const RingSplit& split, Ranks& ranks, Results& whole) {
  const Shape<4> shape = whole.lse.shape();
  Tensor by_row({shape[1], shape[2], shape[3], 1});
  put_together(part, split, ranks, by_row);
  for (std::int64_t b = 0; b < shape[1]; ++b)
    for (std::int64_t h = 0; h < shape[2]; ++h)
      for (std::int64_t i = 0; i < shape[3]; ++i) whole.lse.set({0, b, h, i}, by_row.get({b, h, i, 0}));
}

}  // namespace

RingPart::RingPart(const Problem& p, const Ranks& ranks)
    : queries(p.sizes.N, ranks.size()),
      keys(p.sizes.M, ranks.size()),
      q(part_of(p.q.view(), queries, ranks.rank())),
      k(part_of(p.k.view(), keys, ranks.rank())),
      v(part_of(p.v.view(), keys, ranks.rank())),
      options(p.options) {
  const View<const float, 4>& dense = p.options.dense_bias;
  if (dense.empty() || dense.shape[2] != p.sizes.N || p.sizes.N == 1) return;
  dense_bias = part_of(dense, queries, ranks.rank());
  options.dense_bias = std::as_const(dense_bias).floats();
}

RingRun run_ring(const Problem& p, const Tensor& d_out, Ranks& ranks, int threads) {
  const Sizes& n = p.sizes;
  const RingPart part(p, ranks);
  ThreadPool pool(threads);
  const Ring ring{ranks, n.N, n.M};
  const std::int64_t rows = part.queries.size(ranks.rank()), columns = part.keys.size(ranks.rank());
  Tensor out({n.B, n.H, rows, n.E}), lse({n.B, n.H, rows, 1});
  const View<float, 3> lse_view(lse.floats().data, {n.B, n.H, rows});
  RingRun run(p);
  run.forward = ring_attention(part.inputs(), part.options, ring, out.floats(), lse_view, pool);

  const Tensor d_part = part_of(d_out.view(), part.queries, ranks.rank());
  Tensor dq({n.B, n.H, rows, n.D}), dk({n.B, n.G, columns, n.D}), dv({n.B, n.G, columns, n.E});
  Gradients to = run.gradients.to();
  to.dq = dq.floats();
  to.dk = dk.floats();
  to.dv = dv.floats();
  Tensor d_dense;
  const bool own_rows = !part.options.dense_bias.empty() && part.options.dense_bias.data != p.options.dense_bias.data;
  if (own_rows) {
    d_dense = Tensor(part.options.dense_bias.shape);
    to.d_dense_bias = d_dense.floats();
  }
  const Outputs outputs{std::as_const(out).floats(), lse_view, d_part.floats()};
  run.backward = ring_attention_backward(part.inputs(), part.options, ring, outputs, to, pool);

  put_together(out, part.queries, ranks, run.results.out);
  put_lse_together(lse, part.queries, ranks, run.results);
  put_together(dq, part.queries, ranks, run.gradients.dq);
  put_together(dk, part.keys, ranks, run.gradients.dk);
  put_together(dv, part.keys, ranks, run.gradients.dv);
  if (own_rows) put_together(d_dense, part.queries, ranks, run.gradients.d_dense_bias);
  return run;
}

}  // namespace attn::test
