#include "builtin/models.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "model/hub/hub.h"

namespace attn::builtin {

const base::BuiltInFolder* find_model(std::string_view name) {
  const auto found = std::ranges::find(models(), name, &base::BuiltInFolder::name);
  return found == models().end() ? nullptr : &*found;
}

base::Folder folder_of(const std::string& name) {
  if (const base::BuiltInFolder* files = find_model(name)) return base::Folder(*files);
  std::error_code ignored;
  if (std::filesystem::is_directory(name, ignored)) return name;
  return model::find_model(name, model::HubSettings::from_environment());
}

}  // namespace attn::builtin
