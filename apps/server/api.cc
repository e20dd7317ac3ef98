#include "server/api.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <stdexcept>
#include <utility>

#include "insight/json.h"
#include "insight/map_tile.h"
#include "insight/profile.h"
#include "server/encode.h"
#include "server/facts.h"

namespace attn::server {

namespace {

constexpr const char* kJson = "application/json; charset=utf-8";
constexpr const char* kOctets = "application/octet-stream";

struct NotFound : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct NotWanted {};

std::string one_line(std::string text) {
  std::ranges::replace_if(text, [](unsigned char c) { return c < ' '; }, ' ');
  return text;
}

Bytes shared(std::string bytes) { return std::make_shared<const std::string>(std::move(bytes)); }

Answer octets(Bytes bytes, std::string shape = {}) { return {200, kOctets, std::move(bytes), {}, std::move(shape)}; }

}  // namespace

Answer json_answer(int status, std::string json) {
  constexpr std::size_t kWorthPacking = 2000;
  Answer answer{status, kJson, shared(std::move(json))};
  if (answer.body->size() > kWorthPacking) answer.packed = shared(gzipped(*answer.body));
  return answer;
}

Answer error_answer(int status, const std::string& what) {
  return json_answer(status, insight::as_line(insight::Json{{"error", one_line(what)}}));
}

// One question about one specimen. What it takes from the query is ticked off: what is left at the end is wrong.
struct Api::Asked {
  std::shared_ptr<const Exhibit> exhibit;
  std::string what;  // "tile"; empty: the facts
  Query query;
  const insight::Progress& pulse;
  bool words = false;

  [[nodiscard]] const Exposure& exposure() const { return exhibit->exposure(words); }
  [[nodiscard]] const insight::Specimen& specimen() const { return exposure().specimen(); }
  // Under which what is asked is kept.
  [[nodiscard]] std::string key() const {
    std::string key = exhibit->id() + "/" + what;
    for (const auto& [name, value] : query) key += "&" + name + "=" + value;
    return key;
  }

  // Names that may stand in the query. Throws std::invalid_argument for others.
  void allow(std::initializer_list<const char*> names) const {
    for (const auto& [name, value] : query) {
      if (name == "words" || std::ranges::find(names, name) != names.end()) continue;
      std::string known = "words";
      for (const char* const one : names) known += std::string(", ") + one;
      throw std::invalid_argument("'" + name + "' cannot be asked here, only: " + known);
    }
  }
  [[nodiscard]] std::optional<std::string> text(const char* name) const {
    const auto found = query.find(name);
    return found == query.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] std::int64_t number(const char* name) const {
    const std::string given = text(name).value_or("");
    std::int64_t value = 0;
    const char* const end = given.data() + given.size();
    if (const auto [stop, error] = std::from_chars(given.data(), end, value);
        error != std::errc() || stop != end || given.empty())
      throw std::invalid_argument(std::string(name) + " must be a whole number, not '" + given + "'");
    return value;
  }
  [[nodiscard]] Kind kind() const {
    const std::string given = text("kind").value_or("self");
    const std::optional<Kind> kind = model::parse_kind(given);
    if (!kind) throw std::invalid_argument("kind must be self, decoder or cross, not '" + given + "'");
    static_cast<void>(specimen().stack(*kind));
    return *kind;
  }
  [[nodiscard]] insight::HeadName head() const {
    if (const std::string measure = text("measure").value_or("raw"); measure != "raw")
      throw std::invalid_argument("measure must be raw, not '" + measure + "'");
    const insight::HeadName head{kind(), number("layer"), number("head")};
    specimen().check(head);
    return head;
  }
};

std::string Api::add(std::string name, const std::shared_ptr<const insight::Specimen>& specimen,
                     const insight::Progress& progress) {
  std::unique_lock lock(mutex_);
  const std::string id = std::to_string(++named_);
  lock.unlock();
  auto exhibit = std::make_shared<const Exhibit>(id, std::move(name), specimen);
  // Softmax gives weights: a long text's page is there before its minutes of work are done. Other numbers are at hand.
  if (dynamic_cast<const insight::RecordedSpecimen*>(specimen.get()) == nullptr)
    static_cast<void>(exhibit->exposure(false).survey(*pool_(), progress));
  lock.lock();
  exhibits_.push_back(std::move(exhibit));
  return id;
}

std::shared_ptr<const Exhibit> Api::find(std::string_view id) const {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find_if(exhibits_, [&](const auto& one) { return one->id() == id; });
  return found == exhibits_.end() ? nullptr : *found;
}

Answer Api::list() const {
  const std::scoped_lock lock(mutex_);
  insight::Json specimens = insight::Json::array();
  for (const auto& one : exhibits_)
    specimens.push_back({{"id", one->id()}, {"name", one->name()}, {"text", one->text()}, {"tokens", one->tokens()}});
  return json_answer(
      200, insight::as_line(insight::Json{{"version", ATTNSCOPE_VERSION}, {"specimens", std::move(specimens)}}));
}

Answer Api::answer(std::string_view path, const Query& query, const std::function<bool()>& still_wanted) const {
  const insight::Progress pulse = [&](std::int64_t, std::int64_t) {
    if (!still_wanted()) throw NotWanted();
  };
  try {
    return answer_or_throw(path, query, pulse);
  } catch (const NotFound& missing) {
    return error_answer(404, missing.what());
  } catch (const std::invalid_argument& wrong) {
    return error_answer(400, wrong.what());
  } catch (const NotWanted&) {
    return error_answer(503, "the server is being closed");
  } catch (const std::bad_alloc&) {
    return error_answer(500, "there is not enough memory");
  } catch (const std::exception& failure) {
    return error_answer(500, failure.what());
  }
}

Answer Api::answer_or_throw(std::string_view path, const Query& query, const insight::Progress& pulse) const {
  struct Route {
    std::string_view what;
    Answer (Api::*answer)(const Asked&) const;
  };
  static constexpr std::array kRoutes = {Route{"", &Api::facts_of},     Route{"thumbnails", &Api::thumbnails},
                                         Route{"tile", &Api::tile},     Route{"row", &Api::row},
                                         Route{"column", &Api::column}, Route{"profile", &Api::profile}};
  constexpr std::string_view kAll = "/api/specimens";
  if (path == kAll) return list();
  if (!path.starts_with(kAll) || path[kAll.size()] != '/') throw NotFound("there is nothing here");
  path.remove_prefix(kAll.size() + 1);
  const std::size_t slash = std::min(path.find('/'), path.size());
  Asked asked{find(path.substr(0, slash)), std::string(path.substr(std::min(slash + 1, path.size()))), query, pulse};
  const auto* const route = std::ranges::find(kRoutes, asked.what, &Route::what);
  if (route == kRoutes.end() || (asked.what.empty() && slash < path.size())) throw NotFound("there is nothing here");
  if (!asked.exhibit) throw NotFound("there is no specimen '" + std::string(path.substr(0, slash)) + "'");
  const std::string words = asked.text("words").value_or("0");
  if (words != "0" && words != "1") throw std::invalid_argument("words must be 0 or 1, not '" + words + "'");
  asked.words = words == "1";
  return (this->*route->answer)(asked);
}

Answer Api::facts_of(const Asked& asked) const {
  asked.allow({});
  const auto pool = pool_();
  const Exposure& exposure = asked.exposure();
  const Survey& survey = exposure.survey(*pool, asked.pulse);
  const auto json = [&] { return insight::as_line(facts(*asked.exhibit, exposure, survey)); };
  const std::string key = asked.key();
  Answer answer{200, kJson, cache_.get(key, json)};
  answer.packed = cache_.get(key + "/gzip", [&] { return gzipped(*answer.body); });
  return answer;
}

Answer Api::thumbnails(const Asked& asked) const {
  asked.allow({"kind"});
  const Kind kind = asked.kind();
  const auto pool = pool_();
  const Survey& survey = asked.exposure().survey(*pool, asked.pulse);
  // The survey lives as long as its exhibit does.
  return octets({asked.exhibit, &survey.thumbnails.at(kind)});
}

Answer Api::tile(const Asked& asked) const {
  asked.allow({"kind", "layer", "head", "level", "row", "column", "measure"});
  const insight::HeadName head = asked.head();
  const insight::MapPlace place{asked.number("level"), asked.number("row"), asked.number("column")};
  const auto [rows, columns] = map_tile_shape(asked.specimen().stack(head.kind), place);
  Bytes cells = cache_.get(asked.key(), [&] { return coded(map_tile(asked.specimen(), head, place, *pool_())); });
  return octets(std::move(cells), std::to_string(rows) + "," + std::to_string(columns));
}

Answer Api::row(const Asked& asked) const {
  asked.allow({"kind", "layer", "head", "row", "measure"});
  const insight::HeadName head = asked.head();
  const std::int64_t row = asked.number("row");
  const insight::Stack& all = asked.specimen().stack(head.kind);
  insight::need_index("row", row, all.queries);
  return octets(cache_.get(asked.key(), [&] {
    std::vector<float> weights(static_cast<std::size_t>(all.keys));
    asked.specimen().weights(head, {row, 0}, View<float, 2>{weights.data(), {1, all.keys}}, *pool_());
    return float_bytes(weights);
  }));
}

Answer Api::column(const Asked& asked) const {
  asked.allow({"kind", "layer", "head", "column", "measure"});
  const insight::HeadName head = asked.head();
  const std::int64_t column = asked.number("column");
  const insight::Stack& all = asked.specimen().stack(head.kind);
  insight::need_index("column", column, all.keys);
  return octets(cache_.get(asked.key(), [&] {
    std::vector<float> weights(static_cast<std::size_t>(all.queries));
    asked.specimen().weights(head, {0, column}, View<float, 2>{weights.data(), {all.queries, 1}}, *pool_());
    return float_bytes(weights);
  }));
}

Answer Api::profile(const Asked& asked) const {
  asked.allow({"kind", "layer", "head", "measure"});
  const insight::HeadName head = asked.head();
  return {200, kJson, cache_.get(asked.key(), [&] {
            const insight::Profile found = insight::profile(asked.specimen(), head, *pool_());
            return insight::as_line(insight::Json{{"received", found.received}, {"entropy", found.entropy}});
          })};
}

}  // namespace attn::server
