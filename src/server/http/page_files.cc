#include "server/http/page_files.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "base/read_file.h"
#include "server/http/compress.h"

namespace attn::server {

namespace {

struct ContentType {
  std::string_view ending, name;
  bool packed;  // whether to gzip it; pictures and fonts are compressed already
};
constexpr std::array kTypes = {ContentType{".html", "text/html; charset=utf-8", true},
                               ContentType{".js", "text/javascript; charset=utf-8", true},
                               ContentType{".css", "text/css; charset=utf-8", true},
                               ContentType{".svg", "image/svg+xml", true},
                               ContentType{".json", "application/json; charset=utf-8", true},
                               ContentType{".png", "image/png", false},
                               ContentType{".ico", "image/x-icon", false},
                               ContentType{".woff2", "font/woff2", false}};

constexpr const char* kAppName = "attnscope.html";

// Read in parts, since it has some 20 MB.
Response app_response(const std::filesystem::path& path) {
  auto file = std::make_shared<const base::OpenFile>(path);
  Response response = download("text/html; charset=utf-8", kAppName, {});
  response.pour = [file](const Write& write) {
    std::string part(std::size_t{1} << 20, '\0');
    for (std::int64_t done = 0; done < file->bytes();) {
      const std::int64_t n = file->read(done, part);
      if (n <= 0) throw std::runtime_error("the file became shorter");  // the client notices that its end is missing
      write(std::string_view(part).substr(0, static_cast<std::size_t>(n)));
      done += n;
    }
  };
  return response;
}

}  // namespace

PageFiles::PageFiles(std::span<const base::BuiltInFile> files) {
  for (const base::BuiltInFile& file : files) add(std::string(file.name), std::string(file.bytes));
}

PageFiles PageFiles::read(const std::filesystem::path& folder) {
  constexpr std::int64_t kMostFileBytes = 16 << 20;
  PageFiles page;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    page.add(entry.path().lexically_relative(folder).generic_string(), base::read_file(entry.path(), kMostFileBytes));
  }
  return page;
}

void PageFiles::add(const std::string& name, std::string bytes) {
  if (name == "offline.html") {
    offline_ = std::move(bytes);
    return;
  }
  const auto* const type =
      std::ranges::find_if(kTypes, [&](const ContentType& one) { return name.ends_with(one.ending); });
  if (type == kTypes.end()) return;
  Response file{200, std::string(type->name), std::make_shared<const std::string>(std::move(bytes))};
  if (type->packed) file.packed = std::make_shared<const std::string>(gzipped(*file.body));
  files_["/" + name] = file;
  if (name == "index.html") files_["/"] = files_["/learn"] = std::move(file);
}

Response PageFiles::response(std::string_view path) const {
  const auto found = files_.find(path);
  if (found != files_.end()) return found->second;
  if (!app_.empty() && path == std::string("/") + kAppName) return app_response(app_);
  if (path == "/")
    return error_response(404, "this program was built without its page; only the API works, from /api/recordings on");
  return error_response(404, "not found");
}

bool is_hashed(std::string_view path) { return path.starts_with("/assets/"); }

}  // namespace attn::server
