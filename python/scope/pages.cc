#include "python/scope/pages.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.h"
#include "base/new_file.h"
#include "builtin/models.h"
#include "builtin/page.h"
#include "python/scope/names.h"
#include "python/scope/recordings.h"
#include "python/scope/work.h"
#include "server/http/server.h"
#include "server/routes/offline.h"

namespace attn::python {
namespace {

using namespace nb::literals;

// All built-in models, and the recording's own if it can be loaded again, so that the page can record other texts.
server::ModelList models_with(const Recording& recording) {
  server::ModelList models;
  for (const base::BuiltInFolder& model : builtin::models())
    models.add(std::string(model.name), base::Folder(model), false);
  const model::Recording* const recorded = recording.tables->recording();
  if (recorded == nullptr || recorded->origin.model.empty()) return models;
  try {
    const base::Folder folder = builtin::folder_of(recorded->origin.model);
    static_cast<void>(model::read_facts(folder));
    models.add(recorded->origin.model, folder, true);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): it ran elsewhere
  }
  return models;
}

// A port that is not available raises OSError, as Python's sockets do.
std::unique_ptr<server::Server> serve(const Recording& recording, std::optional<int> port) {
  try {
    const nb::gil_scoped_release released;
    auto made =
        std::make_unique<server::Server>(server::ServerOptions{.page = server::PageFiles(builtin::page()),
                                                               .pool = pool,
                                                               .port = port,
                                                               .store = {.models = models_with(recording).take()}});
    made->add(recording.name, recording.tables, until_interrupted());
    return made;
  } catch (const std::runtime_error& wrong) {
    PyErr_SetString(PyExc_OSError, wrong.what());
    throw nb::python_error();
  }
}

std::string offline_text(const Recording& recording, const std::string& state, ThreadPool& pool) {
  const server::PageFiles files(builtin::page());
  const server::StoredRecording stored("1", recording.name, recording.tables);
  return server::offline_page(files.offline(), stored, {state, false}, pool, until_interrupted());
}

void offline_file(const Recording& recording, const std::string& state, const std::string& file) {
  unlocked([&](ThreadPool& pool) { base::write_file(file, offline_text(recording, state, pool)); });
}

nb::bytes offline(const Recording& recording, const std::string& state) {
  const std::string page = unlocked([&](ThreadPool& pool) { return offline_text(recording, state, pool); });
  return nb::bytes(page.data(), page.size());
}

// ---- tables of several kinds ----

using Names = std::vector<std::string>;

std::vector<text::Token> tokens_of(const Names& names, std::optional<std::int64_t> second_from) {
  std::vector<text::Token> tokens = insight::named_tokens(names);
  for (std::int64_t i = 0; i < std::ssize(tokens); ++i)
    if (second_from && i >= *second_from) tokens[static_cast<std::size_t>(i)].sequence = 1;
  return tokens;
}

// Each: (kind, arrays of the layers, names of rows, names of columns or none, start of the second text or none).
Recording from_kinds(const nb::list& kinds, const std::string& name) {
  std::vector<insight::InMemoryTables::Part> parts;
  for (const nb::handle each : kinds) {
    const auto given = nb::cast<nb::tuple>(each);
    const auto second_from = nb::cast<std::optional<std::int64_t>>(given[4]);
    const auto keys = nb::cast<std::optional<Names>>(given[3]);
    parts.push_back({parse_kind(nb::cast<std::string>(given[0])), read_tables(nb::cast<nb::list>(given[1])),
                     tokens_of(nb::cast<Names>(given[2]), second_from),
                     tokens_of(keys.value_or(Names()), second_from)});
  }
  return {std::make_shared<insight::InMemoryTables>(std::move(parts)), name};
}

}  // namespace

void bind_pages(nb::module_& m) {
  nb::class_<server::Server>(m, "Server")
      .def_prop_ro("url", &server::Server::url)
      .def_prop_ro("port", &server::Server::port)
      .def_prop_ro("cached_bytes", &server::Server::cached_bytes)
      .def("stop", &server::Server::stop, nb::call_guard<nb::gil_scoped_release>());
  m.def("serve", &serve, "recording"_a, "port"_a.none());
  m.def("offline", &offline, "recording"_a, "state"_a);
  m.def("offline_file", &offline_file, "recording"_a, "state"_a, "file"_a);
  m.def("from_kinds", &from_kinds, "kinds"_a, "name"_a);
}

}  // namespace attn::python
