// Masks, in C++.
#include <attn/attn.h>

#include <vector>

#include "../numbers.h"

namespace {

// 1: may be seen.
std::vector<float> table_of(const attn::Mask& mask, int n, int sequence = 0) {
  std::vector<float> table;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) table.push_back(mask.allows(sequence, 0, i, j) ? 1.0F : 0.0F);
  return table;
}

}  // namespace

int main() {
  // [causal]
  const std::vector<float> causal5 = table_of(attn::Causal{}, 5);

  // [padding]
  const std::vector<std::int64_t> ids = {1, 2, 3, 0, 0, 4, 5, 6, 7, 0};  // [2, 5]
  const attn::Mask padding = attn::padding_ids({ids.data(), {2, 5}}, 0);

  // [combined]
  const attn::Mask both = attn::Causal{} & padding;

  // [both]
  const attn::Shape<4> shape = {2, 1, 5, 4};
  const std::vector<float> x(40, 0.5F);
  std::vector<float> result(40), weights(50);
  attn::Options options;
  options.mask = both;
  attn::ThreadPool pool;
  const attn::View<const float, 4> view(x.data(), shape);
  attn::attention({view, view, view}, options, {result.data(), shape}, {}, {weights.data(), {2, 1, 5, 5}}, pool);

  // [added]
  const std::vector<float> added = {0, -1e9F, -1e9F, 0, 0, 0, 0, 0, 0};
  const attn::Mask first_alone = attn::additive({added.data(), {1, 1, 3, 3}});

  // [sparse]
  const std::vector<float> window = table_of(attn::Window(2), 8);
  const std::vector<float> sparse = table_of(attn::Sparse(4), 16);

  // [yours]
  const std::vector<float> prefix = table_of(attn::Causal{} | attn::Prefix(3), 8);
  const std::vector<float> document = table_of(attn::parse_mask("causal & document(0,0,0,1,1,1,1,1)"), 8);
  const std::vector<float> block = table_of(attn::Block(4), 8);
  const std::vector<float> yours = table_of(attn::parse_mask("causal & window(3) | prefix(1)"), 8);

  // []
  lesson::print({{"causal5", {5, 5}, causal5},
                 {"window", {8, 8}, window},
                 {"sparse", {16, 16}, sparse},
                 {"prefix", {8, 8}, prefix},
                 {"document", {8, 8}, document},
                 {"block", {8, 8}, block},
                 {"yours", {8, 8}, yours}});
  const bool forbids = !first_alone.allows(0, 0, 0, 1) && first_alone.allows(0, 0, 1, 0);
  const bool thirds = lesson::close({weights.begin() + 20, weights.begin() + 25}, {1 / 3.0F, 1 / 3.0F, 1 / 3.0F, 0, 0});
  return forbids && thirds ? 0 : 1;
}
