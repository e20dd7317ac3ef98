// server/routes/compare.cc - what two specimens have different.
#include <algorithm>
#include <stdexcept>
#include <vector>

#include "base/parallel_for.h"
#include "figure/scene/attention_figures.h"
#include "insight/blocks/picture.h"
#include "insight/io/json.h"
#include "server/http/encode.h"
#include "server/http/file_names.h"
#include "server/routes/record_request_json.h"
#include "server/routes/routes.h"
#include "server/routes/tables.h"
#include "server/store/comparisons.h"

namespace attn::server {

namespace {

constexpr const char* kRule =
    "A head's change is the mean over the queries that both texts have of the Jensen-Shannon divergence (base 2, 0 to "
    "1) between its two rows, over the keys that both have and one place more, elsewhere, for all others.";

std::shared_ptr<const Compared> compared(Desk& desk, const Question& asked) {
  const auto one = [&](const char* name) {
    const std::optional<std::string> id = asked.text(name);
    if (!id) throw std::invalid_argument(std::string(name) + " must be the id of a specimen");
    return desk.find(*id);
  };
  return desk.comparisons().get({one("a"), one("b"), asked.words()}, *desk.pool(), asked.progress());
}

Kind kind_in(const Compared& pair, const Question& asked) {
  const Kind kind = asked.kind_named();
  static_cast<void>(pair.a->stack(kind));
  return kind;
}

insight::HeadName head_in(const Compared& pair, const Question& asked) {
  const insight::HeadName head{kind_in(pair, asked), asked.number("layer"), asked.number("head")};
  pair.a->check(head);
  return head;
}

Sight sight_in(const std::shared_ptr<const Compared>& pair, const Question& asked) {
  const insight::HeadName head = head_in(*pair, asked);
  // The specimen refers to the others of its pair.
  return {{pair, pair->on_a.get()},
          head,
          pair->key + "/" + std::string(model::name_of(head.kind)) + "/" + std::to_string(head.layer) + "/" +
              std::to_string(head.head)};
}

Json stack_json(const Compared& pair, const insight::Stack& stack) {
  const insight::Comparison::Tokens& tokens = pair.found.of(stack.kind);
  return {{"kind", std::string(model::name_of(stack.kind))},
          {"layers", stack.layers},
          {"heads", stack.heads},
          {"queries", stack.queries},
          {"keys", stack.keys},
          {"query_pairs", insight::to_json(tokens.queries)},
          {"key_pairs", insight::to_json(tokens.keys)}};
}

}  // namespace

Answer compare(Desk& desk, const Question& asked) {
  asked.allow({"a", "b", "words"});
  const auto pair = compared(desk, asked);
  Json stacks = Json::array();
  for (const insight::Stack& stack : pair->a->stacks()) stacks.push_back(stack_json(*pair, stack));
  return json_answer(200, insight::as_line(Json{{"a", pair->exhibit_a->id()},
                                                {"b", pair->exhibit_b->id()},
                                                {"stacks", std::move(stacks)},
                                                {"heads", insight::to_json(pair->found.heads)},
                                                {"rule", kRule}}));
}

Answer compare_tile(Desk& desk, const Question& asked) {
  asked.allow({"a", "b", "words", "kind", "layer", "head", "level", "row", "column"});
  return tile_of(desk, asked, sight_in(compared(desk, asked), asked));
}

Answer compare_row(Desk& desk, const Question& asked) {
  asked.allow({"a", "b", "words", "kind", "layer", "head", "row"});
  return row_of(desk, asked, sight_in(compared(desk, asked), asked));
}

Answer compare_column(Desk& desk, const Question& asked) {
  asked.allow({"a", "b", "words", "kind", "layer", "head", "column"});
  return column_of(desk, asked, sight_in(compared(desk, asked), asked));
}

Answer compare_thumbnails(Desk& desk, const Question& asked) {
  asked.allow({"a", "b", "words", "kind"});
  const auto pair = compared(desk, asked);
  const Kind kind = kind_in(*pair, asked);
  const std::string key = pair->key + "/thumbnails/" + std::string(model::name_of(kind));
  return octets(desk.cache().get(key, asked.progress(), [&](const insight::Progress& progress) {
    std::vector<insight::HeadName> heads = pair->a->heads();
    std::erase_if(heads, [&](const insight::HeadName& head) { return head.kind != kind; });
    std::string all;
    for (const insight::Picture& picture : figure::pictures_of(
             *pair->on_a, heads, {.most = kThumbnail, .reduce = insight::Reduce::farthest, .progress = progress},
             *desk.pool()))
      all += coded_differences(picture.cells);
    return all;
  }));
}

Answer compare_figure(Desk& desk, const Question& asked) {
  asked.allow({"a", "b", "words", "kind", "layer", "head", "format", "dpi"});
  const auto pair = compared(desk, asked);
  const insight::HeadName head = head_in(*pair, asked);
  const std::string kind = head.kind == Kind::self ? "" : "-" + std::string(model::name_of(head.kind));
  return drawn(figure::difference_of(*pair->aligned, head, figure::kDifferenceCells, *desk.pool()),
               in_file_name(pair->exhibit_a->name()) + "-difference" + kind + "-layer" + std::to_string(head.layer) +
                   "-head" + std::to_string(head.head),
               asked);
}

}  // namespace attn::server
