#include "builtin/models.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "model/hub/hub.h"

namespace attn::builtin {

const text::BuiltInFolder* find_model(std::string_view name) {
  const auto found = std::ranges::find(models(), name, &text::BuiltInFolder::name);
  return found == models().end() ? nullptr : &*found;
}

text::Folder folder_of(const std::string& name) {
  if (const text::BuiltInFolder* files = find_model(name)) return text::Folder(*files);
  std::error_code ignored;
  if (std::filesystem::is_directory(name, ignored)) return name;
  return model::find_model(name, model::HubSettings::from_environment());
}

}  // namespace attn::builtin
