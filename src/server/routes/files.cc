#include "server/routes/files.h"

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "attn/error.h"
#include "base/json_file.h"
#include "base/one_line.h"
#include "insight/io/json.h"
#include "insight/io/table_file.h"
#include "insight/statistics/check.h"
#include "model/recording/recording_file.h"
#include "server/store/user_files.h"

namespace attn::server {

namespace fs = std::filesystem;

namespace {

using insight::Json;

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

// The name that the body gives, as a model or a recording is called: one line, not too long.
std::string name_in(const RoutedRequest& request) {
  const nlohmann::json body = base::parse_json(request.body, "the body");
  if (!body.is_object() || !body.contains("name") || !body["name"].is_string())
    throw std::invalid_argument("the body must be {\"name\": \"...\"}");
  std::string name = base::one_line(body["name"].get<std::string>());
  if (name.empty()) throw std::invalid_argument("the name must not be empty");
  return name;
}

std::shared_ptr<const insight::AttentionTables> read_recording(const fs::path& file, ThreadPool& pool,
                                                               const base::Progress& progress) {
  auto tables = std::make_shared<const insight::RecordedTables>(model::load_recording(file));
  const insight::CheckResult result = insight::check_weights(*tables, {.progress = progress}, pool);
  if (result.failure) throw std::invalid_argument("the recording is broken: " + to_string(*result.failure));
  return tables;
}

std::shared_ptr<const insight::AttentionTables> read_tables(const fs::path& file) {
  insight::TableFile read = insight::read_table(file);
  return std::make_shared<const insight::InMemoryTables>(std::move(read.tables), std::move(read.queries),
                                                         std::move(read.keys));
}

// Loads the model, so that what is wrong with it is said now.
Response open_model(RecordingStore& store, const fs::path& folder, const std::string& name) {
  const std::string added = store.models().add(name, base::Folder(folder));
  return json_response(200, insight::as_line(Json{{"kind", "model"}, {"model", added}}));
}

Response open_file(RecordingStore& store, const fs::path& file, const RoutedRequest& request) {
  const auto pool = store.pool();
  const auto tables = file.extension() == ".attn" ? read_recording(file, *pool, request.progress()) : read_tables(file);
  const std::string id = store.add(name_in(request), tables, request.progress(), "file-" + request.segment);
  return json_response(200, insight::as_line(Json{{"kind", "recording"}, {"id", id}}));
}

Response open_folder(RecordingStore& store, const RoutedRequest& request) {
  const fs::path folder = store.files().folder(request.segment);
  const std::vector<fs::path> files = files_in(folder);
  const auto is = [&](const char* extension) {
    return files.size() == 1 && files.front().extension().string() == extension;
  };
  if (std::ranges::find(files, folder / "config.json") != files.end())
    return open_model(store, folder, name_in(request));
  if (is(".attn") || is(".npy") || is(".csv") || is(".json")) return open_file(store, files.front(), request);
  throw std::invalid_argument(
      "this is neither a recording (.attn), nor a table (.npy, .csv, .json), nor a model (config.json, tokenizer.json, "
      "*.safetensors)");
}

// Messages name files as the user knows them, not where they lie here.
std::string without_folder(const Error& wrong, const fs::path& folder) {
  std::string text = wrong.what();
  for (const std::string& prefix : {folder.string() + "/", folder.string()})
    for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix))
      text.erase(at, prefix.size());
  return text.starts_with(": ") ? text.substr(2) : text;
}

}  // namespace

Response store_piece(RecordingStore& store, const RoutedRequest& request) {
  request.allow({"name", "offset"});
  const std::string name = request.text("name").value_or("");
  const UserFiles::Piece piece{request.segment, name, request.number("offset"), request.body};
  store.files().write(piece);
  return json_response(200, insight::as_line(Json{{"bytes", piece.offset + std::ssize(piece.bytes)}}));
}

Response open_files(RecordingStore& store, const RoutedRequest& request) {
  request.allow({});
  const RecordingStore::Turn turn(store);
  try {
    return open_folder(store, request);
  } catch (const Error& wrong) {
    throw std::invalid_argument(without_folder(wrong, store.files().folder(request.segment)));
  }
}

}  // namespace attn::server
