#include "server/http/request.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <utility>

#include "insight/io/json.h"

namespace attn::server {

namespace {

template <typename Number>
Number parsed(const char* name, std::string_view given, const char* what) {
  Number value = 0;
  const char* const end = given.data() + given.size();
  const auto [stop, error] = std::from_chars(given.data(), end, value);
  if (error != std::errc() || stop != end || given.empty())
    throw std::invalid_argument(std::string(name) + " must be " + what + ", not '" + std::string(given) + "'");
  return value;
}

}  // namespace

std::string RoutedRequest::key() const {
  std::string key = stored->id() + what;
  for (const auto& [name, value] : query) key += "&" + name + "=" + value;
  return key;
}

base::Progress RoutedRequest::progress(const char* of) const {
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kBetween{100};
  return
      [to = client, of = std::string(of), next = Clock::time_point()](std::int64_t done, std::int64_t total) mutable {
        if (!to.waits()) throw Cancelled();
        if (!to.tell || Clock::now() < next) return;
        next = Clock::now() + kBetween;
        to.tell("progress", insight::as_line(insight::Json{{"done", done}, {"total", total}, {"what", of}}));
      };
}

void RoutedRequest::allow(std::initializer_list<const char*> names) const {
  for (const auto& [name, value] : query) {
    if (std::ranges::find(names, name) != names.end()) continue;
    std::string known;
    for (const char* const one : names) known += (known.empty() ? "" : ", ") + std::string(one);
    throw std::invalid_argument("'" + name + "' is not a parameter here, only: " + (known.empty() ? "nothing" : known));
  }
}

std::optional<std::string> RoutedRequest::text(const char* name) const {
  const auto found = query.find(name);
  return found == query.end() ? std::nullopt : std::optional(found->second);
}

std::int64_t RoutedRequest::number(const char* name) const {
  return parsed<std::int64_t>(name, text(name).value_or(""), "a whole number");
}

std::int64_t RoutedRequest::number(const char* name, std::int64_t otherwise) const {
  return query.contains(name) ? number(name) : otherwise;
}

double RoutedRequest::real(const char* name, double otherwise) const {
  const auto given = text(name);
  if (!given) return otherwise;
  const double value = parsed<double>(name, *given, "a number");
  if (!std::isfinite(value)) throw std::invalid_argument(std::string(name) + " must be a number, not '" + *given + "'");
  return value;
}

bool RoutedRequest::flag(const char* name) const {
  const std::string given = text(name).value_or("0");
  if (given != "0" && given != "1")
    throw std::invalid_argument(std::string(name) + " must be 0 or 1, not '" + given + "'");
  return given == "1";
}

std::vector<std::int64_t> RoutedRequest::numbers(const char* name) const {
  std::vector<std::int64_t> all;
  const auto given = text(name);
  for (std::size_t from = 0; given && from <= given->size();) {
    const std::size_t comma = std::min(given->find(',', from), given->size());
    all.push_back(parsed<std::int64_t>(name, std::string_view(*given).substr(from, comma - from),
                                       "whole numbers separated by commas"));
    from = comma + 1;
  }
  return all;
}

Kind RoutedRequest::kind_named() const {
  const std::string given = text("kind").value_or("self");
  const std::optional<Kind> kind = model::parse_kind(given);
  if (!kind) throw std::invalid_argument("kind must be self, decoder or cross, not '" + given + "'");
  return *kind;
}

Kind RoutedRequest::kind() const {
  const Kind kind = kind_named();
  static_cast<void>(tables().stack(kind));
  return kind;
}

insight::HeadId RoutedRequest::head() const {
  const insight::HeadId head{kind(), number("layer"), number("head")};
  tables().check(head);
  return head;
}

}  // namespace attn::server
