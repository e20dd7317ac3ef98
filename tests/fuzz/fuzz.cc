#include "tests/fuzz/fuzz.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/targets.h"
#include "tests/support/temporary_folder.h"

namespace attn::fuzz {

namespace {

constexpr std::array kTargets = {
    Target{"api", &fuzz_api},
    Target{"config", &fuzz_config},
    Target{"dataset", &fuzz_dataset},
    Target{"gate", &fuzz_gate},
    Target{"lesson", &fuzz_lesson},
    Target{"mask", &fuzz_mask},
    Target{"recording", &fuzz_recording},
    Target{"safetensors", &fuzz_safetensors},
    Target{"table", &fuzz_table},
    Target{"tokenizer", &fuzz_tokenizer},
};

}  // namespace

std::span<const Target> targets() { return kTargets; }

const Target* find_target(std::string_view name) {
  const auto* const found = std::ranges::find(kTargets, name, [](const Target& t) { return std::string_view(t.name); });
  return found == kTargets.end() ? nullptr : found;
}

void require(bool holds, const char* law) {
  if (holds) return;
  std::fprintf(stderr, "broken law: %s\n", law);
  std::abort();
}

std::vector<std::string> parts_of(std::string_view input) {
  constexpr std::string_view kCut = "\n====\n";
  std::vector<std::string> parts;
  for (std::size_t cut = 0; (cut = input.find(kCut)) != std::string_view::npos;
       input.remove_prefix(cut + kCut.size())) {
    parts.emplace_back(input.substr(0, cut));
  }
  parts.emplace_back(input);
  return parts;
}

std::string take_line(std::string& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string line = text.substr(0, end);
  text.erase(0, std::min(end + 1, text.size()));
  return line;
}

std::string file_with(const std::string& name, const std::string& bytes) {
  static const test::TemporaryFolder folder;
  return folder.write(name, bytes).string();
}

}  // namespace attn::fuzz
