#include "server/routes/api.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include "server/routes/compare.h"
#include "server/routes/course.h"
#include "server/routes/export.h"
#include "server/routes/files.h"
#include "server/routes/heads.h"
#include "server/routes/map_tile.h"
#include "server/routes/mask.h"
#include "server/routes/predictions.h"
#include "server/routes/recordings.h"
#include "server/routes/rows.h"

namespace attn::server {

namespace {

struct Route {
  std::string_view method, path;  // '*' in the path: a recording's id, a lesson's name, or a folder's number
  Response (*response)(RecordingStore&, const RoutedRequest&);
  bool streams = false;
};

constexpr std::array kRoutes = {
    Route{"GET", "/api/recordings", &list},
    Route{"POST", "/api/recordings", &make_recording, true},
    Route{"GET", "/api/models", &models},
    Route{"GET", "/api/recordings/*", &facts_of, true},
    Route{"GET", "/api/recordings/*/predictions", &predictions},
    Route{"GET", "/api/recordings/*/effects", &effects, true},
    Route{"GET", "/api/recordings/*/thumbnails", &thumbnails},
    Route{"GET", "/api/recordings/*/tile", &tile},
    Route{"GET", "/api/recordings/*/row", &row},
    Route{"GET", "/api/recordings/*/column", &column},
    Route{"GET", "/api/recordings/*/profile", &profile},
    Route{"GET", "/api/recordings/*/trace", &trace},
    Route{"POST", "/api/recordings/*/find", &find, true},
    Route{"GET", "/api/recordings/*/figure", &figure},
    Route{"GET", "/api/recordings/*/table", &table},
    Route{"GET", "/api/recordings/*/page", &page},
    Route{"GET", "/api/recordings/*/recording", &recording},
    Route{"GET", "/api/patterns", &patterns},
    Route{"GET", "/api/compare", &compare, true},
    Route{"GET", "/api/compare/tile", &compare_tile},
    Route{"GET", "/api/compare/row", &compare_row},
    Route{"GET", "/api/compare/column", &compare_column},
    Route{"GET", "/api/compare/thumbnails", &compare_thumbnails},
    Route{"GET", "/api/compare/figure", &compare_figure},
    Route{"POST", "/api/mask", &mask},
    Route{"GET", "/api/lessons", &list_lessons},
    Route{"GET", "/api/lessons/*", &show_lesson, true},
    Route{"POST", "/api/lessons/*", &show_lesson, true},
    Route{"POST", "/api/lessons/*/answer", &check_lesson, true},
    Route{"PUT", "/api/files/*", &store_piece},
    Route{"POST", "/api/files/*/open", &open_files, true},
};

// The part of the path that '*' matches, empty if the pattern has none; nullopt if the path does not match.
std::optional<std::string_view> matched(std::string_view pattern, std::string_view path) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == path ? std::optional(std::string_view()) : std::nullopt;
  const std::string_view before = pattern.substr(0, star), behind = pattern.substr(star + 1);
  if (path.size() <= before.size() + behind.size() || !path.starts_with(before) || !path.ends_with(behind))
    return std::nullopt;
  const std::string_view id = path.substr(before.size(), path.size() - before.size() - behind.size());
  return id.find('/') != std::string_view::npos ? std::nullopt : std::optional(id);
}

struct FoundRoute {
  const Route* route = nullptr;
  std::string_view id;
};

// Throws HttpError.
FoundRoute find_route(const Request& request) {
  std::string methods;
  for (const Route& route : kRoutes) {
    const auto id = matched(route.path, request.path);
    if (!id) continue;
    if (route.method == request.method) return {&route, *id};
    methods += (methods.empty() ? "" : " or ") + std::string(route.method);
  }
  if (methods.empty()) throw HttpError(404, "not found");
  throw HttpError(405, request.method + " is not allowed here, only " + methods);
}

// ---- names of version 0.1 ----

constexpr std::string_view kOldPath = "/api/specimens", kNewPath = "/api/recordings";

bool has_old_names(const Request& request) {
  return request.path == kOldPath || request.path.starts_with(std::string(kOldPath) + "/") ||
         request.query.contains("aside");
}

// The same request with the current names. Prints a note once per process.
Request with_new_names(Request request) {
  static std::once_flag said;
  std::call_once(said, [] {
    std::fputs(
        "note: /api/specimens is called /api/recordings now, and aside=1 is called without_sinks=1; the next version "
        "removes the old names\n",
        stderr);
  });
  if (request.path.starts_with(kOldPath)) request.path.replace(0, kOldPath.size(), kNewPath);
  if (auto old = request.query.extract("aside"); !old.empty()) {
    old.key() = "without_sinks";
    request.query.insert(std::move(old));
  }
  return request;
}

Response respond_or_throw(RecordingStore& store, const Request& request, const Client& client) {
  const auto [route, id] = find_route(request);
  const bool is_recording = route->path.starts_with(kNewPath);
  RoutedRequest routed{.method = request.method,
                       .stored = id.empty() || !is_recording ? nullptr : store.find(id),
                       .segment = is_recording ? "" : std::string(id),
                       .what = std::string(route->path),
                       .query = request.query,
                       .body = request.body,
                       .client = client};
  return route->response(store, routed);
}

}  // namespace

Response Api::response(const Request& request, const Client& client) const {
  if (has_old_names(request)) return response(with_new_names(request), client);
  try {
    return respond_or_throw(store_, request, client);
  } catch (const HttpError& refused) {
    return error_response(refused.status, refused.what());
  } catch (const std::invalid_argument& wrong) {
    return error_response(400, wrong.what());
  } catch (const Cancelled&) {
    return error_response(503, "the server is shutting down");
  } catch (const std::bad_alloc&) {
    return error_response(500, "out of memory");
  } catch (const std::exception& failure) {
    return error_response(500, failure.what());
  }
}

bool Api::streams(const Request& request) {
  if (has_old_names(request)) return streams(with_new_names(request));
  return std::ranges::any_of(kRoutes, [&](const Route& route) {
    return route.streams && route.method == request.method && matched(route.path, request.path);
  });
}

}  // namespace attn::server
