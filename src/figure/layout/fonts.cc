#include "figure/layout/fonts.h"

#include <dlfcn.h>
#include <fontconfig/fontconfig.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace attn::figure {

namespace {

namespace fs = std::filesystem;

// The folder of fonts; empty if there is none.
fs::path shipped_fonts() {
  std::error_code none;
  const fs::path program = fs::read_symlink("/proc/self/exe", none);
  Dl_info module{};  // for a program, dli_fname is argv[0], which may not be a path
  dladdr(reinterpret_cast<const void*>(&shipped_fonts), &module);
  const fs::path file = module.dli_fname == nullptr ? "" : module.dli_fname;
  for (const fs::path& folder :
       {program.parent_path().parent_path() / "share/attnscope/fonts", file.parent_path() / "fonts"})
    if (folder.is_absolute() && fs::is_directory(folder, none)) return folder;
  return {};
}

// Adds fonts file by file: for a folder, fontconfig would write a cache.
void add_fonts(FcConfig* config, const fs::path& folder) {
  std::error_code none;
  for (fs::recursive_directory_iterator at(folder, none), end; !none && at != end; at.increment(none))
    if (at->is_regular_file(none)) FcConfigAppFontAddFile(config, reinterpret_cast<const FcChar8*>(at->path().c_str()));
}

// Whether fontconfig can write its cache. If not, it complains on standard error, once per folder of fonts.
bool can_cache(FcConfig* config) {
  FcStrList* folders = FcConfigGetCacheDirs(config);
  bool can = false;
  while (const FcChar8* name = FcStrListNext(folders)) {
    fs::path there = reinterpret_cast<const char*>(name);  // or the folder in which it would be created
    std::error_code none;
    while (there.has_relative_path() && !fs::exists(there, none)) there = there.parent_path();
    can = can || access(there.c_str(), W_OK) == 0;
  }
  FcStrListDone(folders);
  return can;
}

// The configuration of FONTCONFIG_FILE or of the system; without one, the fonts in the usual places.
FcConfig* system_fonts() {
  FcConfig* config = FcConfigCreate();
  FcChar8* file = FcConfigGetFilename(config, nullptr);
  const bool read = file != nullptr && FcConfigParseAndLoad(config, file, FcTrue) == FcTrue && can_cache(config);
  FcStrFree(file);
  if (read) return config;
  FcConfigDestroy(config);
  config = FcConfigCreate();
  const char* home = std::getenv("HOME");
  for (const fs::path& place : {fs::path("/usr/share/fonts"), fs::path("/usr/local/share/fonts"),
                                fs::path(home == nullptr ? "/" : home) / ".local/share/fonts"})
    add_fonts(config, place);
  return config;
}

bool add_shipped_fonts() {
  const fs::path folder = shipped_fonts();
  if (folder.empty()) return false;
  FcConfig* config = system_fonts();
  add_fonts(config, folder);
  FcConfigSetRescanInterval(config, 0);  // or fontconfig would later reload the configuration, without these fonts
  return FcConfigSetCurrent(config) == FcTrue;
}

}  // namespace

void use_shipped_fonts() { static const bool used [[maybe_unused]] = add_shipped_fonts(); }

}  // namespace attn::figure
