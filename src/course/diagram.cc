#include "course/diagram.h"

#include <stdexcept>
#include <string_view>

namespace attn::course {

namespace {

constexpr std::string_view kAttention = R"(
    Q ──┐
        ├── Q K^T ── / sqrt(d_k) ── softmax ──┐
    K ──┘                                     ├── output
    V ────────────────────────────────────────┘
)";

constexpr std::string_view kHeads = R"(
         ┌─ head 0: W_q W_k W_v ── attention ─┐
    X ───┼─ head 1: W_q W_k W_v ── attention ─┼── concat ── W_o ── output
         └─ head h: W_q W_k W_v ── attention ─┘
)";

constexpr std::string_view kCross = R"(
    decoder ── W_q ── Q ──┐
                          ├── softmax(Q K^T / sqrt(d_k)) ──┐
    encoder ─┬ W_k ── K ──┘                                ├── output
             └ W_v ── V ───────────────────────────────────┘
)";

constexpr std::string_view kRnn = R"(
    RNN         h0 ──> h1 ──> h2 ──> h3 ──> h4     one step after the other
                       ^      ^      ^      ^
                       x1     x2     x3     x4

    attention   x1     x2     x3     x4            every pair at once
                 └──┬───┴──┬───┴──┬───┘
                   all pairs: Q K^T
)";

constexpr std::string_view kTransformer = R"(
    source ── embed ──┬─ self-attention ── feed-forward ─┐ x layers
                      └──────────── encoder ─────────────┴── memory ──┐
                                                                      │ K, V
    written ─ embed ──┬─ causal attention ── cross-attention <────────┘
    so far            └─ feed-forward ── x layers ── logits ── softmax ── next
)";

struct Diagram {
  std::string_view name, text;  // the text begins with a newline
};
constexpr Diagram kAll[] = {
    {"attention", kAttention}, {"heads", kHeads}, {"cross", kCross}, {"rnn", kRnn}, {"transformer", kTransformer},
};

}  // namespace

std::string diagram_text(const std::string& name, const OnScreen& /*on*/) {
  std::string names;
  for (const Diagram& one : kAll) {
    if (one.name == name) return std::string(one.text.substr(1)) + "\n";
    names += (names.empty() ? "" : ", ") + std::string(one.name);
  }
  throw std::invalid_argument("there is no diagram '" + name + "'; choose from " + names);
}

}  // namespace attn::course
