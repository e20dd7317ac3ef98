#include "insight/tables/value_weighted.h"

#include <stdexcept>
#include <string>
#include <utility>

namespace attn::insight {

namespace {

class ValueWeighted final : public AttentionTables {
 public:
  explicit ValueWeighted(std::shared_ptr<const AttentionTables> inner)
      : AttentionTables(inner->stacks()), inner_(std::move(inner)) {}

  using AttentionTables::weights;
  [[nodiscard]] const std::vector<text::Token>& queries(Kind kind) const noexcept override {
    return inner_->queries(kind);
  }
  [[nodiscard]] const std::vector<text::Token>& keys(Kind kind) const noexcept override { return inner_->keys(kind); }
  [[nodiscard]] Cover cover(const HeadId& head, const Tile& tile) const override { return inner_->cover(head, tile); }
  [[nodiscard]] bool causal(const HeadId& head) const override { return inner_->causal(head); }
  [[nodiscard]] Numbers numbers() const noexcept override { return Numbers::norms; }
  [[nodiscard]] const model::Recording* recording() const noexcept override { return inner_->recording(); }

  void weights(const HeadId& head, Rectangle window, View<float, 2> out, ThreadPool& pool) const override {
    inner_->weights(head, window, out, pool);
    const nn::Matrix& all = recording()->log.attention(head.kind, head.layer).value_norms;
    const float* const norms = all.row(head.head) + window.col;
    for (std::int64_t i = 0; i < out.shape[0]; ++i) {
      for (std::int64_t j = 0; j < out.shape[1]; ++j) out(i, j) *= norms[j];
    }
  }

 private:
  std::shared_ptr<const AttentionTables> inner_;
};

void check_norms(const model::AttentionLog& log) {
  for (const model::AttentionRecord& record : log.attentions()) {
    if (record.value_norms.rows() == record.shape.heads && record.value_norms.columns() == record.keys) continue;
    throw std::invalid_argument(
        "this recording has no value norms: attnscope's own models record them (attnscope record, "
        "at.load(...).record), at.record(model) with a transformers model does not");
  }
}

}  // namespace

std::unique_ptr<AttentionTables> value_weighted(std::shared_ptr<const AttentionTables> tables) {
  if (tables->recording() == nullptr) {
    throw std::invalid_argument("a table of weights has no values: measure 'value' needs a model or a recording");
  }
  if (tables->numbers() != Numbers::weights) {
    throw std::invalid_argument("these are " + std::string(name_of(tables->numbers())) +
                                " already: start from the recording itself");
  }
  check_norms(tables->recording()->log);
  return std::make_unique<ValueWeighted>(std::move(tables));
}

}  // namespace attn::insight
