// server/routes/compare.cc - compares two recordings.
#include "server/routes/compare.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "base/parallel_for.h"
#include "figure/scene/attention_figures.h"
#include "insight/blocks/picture.h"
#include "insight/io/json.h"
#include "server/http/encode.h"
#include "server/routes/export.h"
#include "server/routes/map_tile.h"
#include "server/routes/record_request_json.h"
#include "server/routes/rows.h"
#include "server/store/comparisons.h"

namespace attn::server {

namespace {

constexpr const char* kRule =
    "A head's change is the Jensen-Shannon divergence (base 2, 0 to 1) between its two rows, averaged over the queries "
    "that both texts have. Its bins are the keys that both have and one more, elsewhere, for all others.";

std::shared_ptr<const Compared> compared(RecordingStore& store, const RoutedRequest& request) {
  const auto one = [&](const char* name) {
    const std::optional<std::string> id = request.text(name);
    if (!id) throw std::invalid_argument(std::string(name) + " must be the id of a recording");
    return store.find(*id);
  };
  return store.comparisons().get({one("a"), one("b"), request.words()}, *store.pool(), request.progress());
}

Kind kind_in(const Compared& pair, const RoutedRequest& request) {
  const Kind kind = request.kind_named();
  static_cast<void>(pair.a->stack(kind));
  return kind;
}

insight::HeadId head_in(const Compared& pair, const RoutedRequest& request) {
  const insight::HeadId head{kind_in(pair, request), request.number("layer"), request.number("head")};
  pair.a->check(head);
  return head;
}

ViewedHead viewed_in(const std::shared_ptr<const Compared>& pair, const RoutedRequest& request) {
  const insight::HeadId head = head_in(*pair, request);
  // The difference refers to the tables of its pair, so it must keep the pair alive.
  return {{pair, pair->on_a.get()},
          head,
          pair->key + "/" + std::string(model::name_of(head.kind)) + "/" + std::to_string(head.layer) + "/" +
              std::to_string(head.head)};
}

Json stack_json(const Compared& pair, const insight::AttentionStack& stack) {
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

Response compare(RecordingStore& store, const RoutedRequest& request) {
  request.allow({"a", "b", "words"});
  const auto pair = compared(store, request);
  Json stacks = Json::array();
  for (const insight::AttentionStack& stack : pair->a->stacks()) stacks.push_back(stack_json(*pair, stack));
  return json_response(200, insight::as_line(Json{{"a", pair->stored_a->id()},
                                                  {"b", pair->stored_b->id()},
                                                  {"stacks", std::move(stacks)},
                                                  {"heads", insight::to_json(pair->found.heads)},
                                                  {"rule", kRule}}));
}

Response compare_tile(RecordingStore& store, const RoutedRequest& request) {
  request.allow({"a", "b", "words", "kind", "layer", "head", "level", "row", "column"});
  return tile_of(store, request, viewed_in(compared(store, request), request));
}

Response compare_row(RecordingStore& store, const RoutedRequest& request) {
  request.allow({"a", "b", "words", "kind", "layer", "head", "row"});
  return row_of(store, request, viewed_in(compared(store, request), request));
}

Response compare_column(RecordingStore& store, const RoutedRequest& request) {
  request.allow({"a", "b", "words", "kind", "layer", "head", "column"});
  return column_of(store, request, viewed_in(compared(store, request), request));
}

Response compare_thumbnails(RecordingStore& store, const RoutedRequest& request) {
  request.allow({"a", "b", "words", "kind"});
  const auto pair = compared(store, request);
  const Kind kind = kind_in(*pair, request);
  const std::string key = pair->key + "/thumbnails/" + std::string(model::name_of(kind));
  return octets(store.cache().get(key, request.progress(), [&](const base::Progress& progress) {
    std::vector<insight::HeadId> heads = pair->a->heads();
    std::erase_if(heads, [&](const insight::HeadId& head) { return head.kind != kind; });
    std::string all;
    for (const insight::Picture& picture : figure::pictures_of(
             *pair->on_a, heads, {.most = kThumbnail, .reduce = insight::Reduce::farthest, .progress = progress},
             *store.pool()))
      all += coded_differences(picture.cells);
    return all;
  }));
}

Response compare_figure(RecordingStore& store, const RoutedRequest& request) {
  request.allow({"a", "b", "words", "kind", "layer", "head", "format", "dpi"});
  const auto pair = compared(store, request);
  const insight::HeadId head = head_in(*pair, request);
  const std::string kind = head.kind == Kind::self ? "" : "-" + std::string(model::name_of(head.kind));
  return drawn(figure::difference_of(*pair->aligned, head, figure::kDifferenceCells, *store.pool()),
               in_file_name(pair->stored_a->name()) + "-difference" + kind + "-layer" + std::to_string(head.layer) +
                   "-head" + std::to_string(head.head),
               request);
}

}  // namespace attn::server
