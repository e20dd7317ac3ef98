#include "builtin/models.h"

#include <algorithm>

namespace attn::builtin {

const text::BuiltInFolder* find_model(std::string_view name) {
  const auto found = std::ranges::find(models(), name, &text::BuiltInFolder::name);
  return found == models().end() ? nullptr : &*found;
}

}  // namespace attn::builtin
