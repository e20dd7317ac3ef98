// What a model's folder holds besides weights: config.json and the tokenizer's files.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>

#include "base/folder.h"
#include "model/run/model.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"
#include "text/tokenizer/tokenizer.h"

namespace attn::fuzz {

namespace {

constexpr std::array<std::string_view, 6> kFamilies = {"bart", "bert", "gpt2", "llama", "mistral", "t5"};

// The weights of a golden model, read once.
const std::string& weights_of(const std::string& family) {
  static std::map<std::string, std::string> all;
  std::string& bytes = all[family];
  if (bytes.empty()) {
    bytes = base::Folder(std::string(ATTNSCOPE_GOLDEN) + "/models/" + family).read("model.safetensors");
  }
  return bytes;
}

void run(const model::Model& model) {
  ThreadPool pool(1);
  const model::Batch batch({0, 1, 2});
  const nn::Matrix hidden = model.read(batch, {.pool = pool});
  require(hidden.view().shape[0] == 3 && hidden.view().shape[1] == model.facts().width,
          "hidden states have a row per token and the model's width");
}

}  // namespace

void fuzz_config(std::string_view input) {
  std::string config(input);
  const std::string family = take_line(config);
  if (std::ranges::find(kFamilies, family) == kFamilies.end()) return;
  const std::array files = {base::BuiltInFile{"config.json", config},
                            base::BuiltInFile{"model.safetensors", weights_of(family)}};
  const base::Folder folder(base::BuiltInFolder{"fuzz", files});
  documented([&] { static_cast<void>(model::read_facts(folder)); });
  documented([&] { run(*model::load_model(folder)); });
}

void fuzz_tokenizer(std::string_view input) {
  std::vector<std::string> parts = parts_of(input);
  const std::string text = parts.back();
  parts.pop_back();
  std::vector<std::string> names;
  for (std::string& part : parts) names.push_back(take_line(part));
  std::vector<base::BuiltInFile> files;
  for (std::size_t n = 0; n < parts.size(); ++n) files.push_back({names[n], parts[n]});
  documented([&] {
    const text::Tokenizer tokenizer = text::Tokenizer::load(base::Folder(base::BuiltInFolder{"fuzz", files}));
    const text::Encoding encoding = tokenizer.encode(text);
    require(encoding.ids() == tokenizer.ids(text), "ids() gives the ids of encode()");
    for (const text::Token& token : encoding.tokens) {
      require(token.span.from >= 0 && token.span.from <= token.span.to, "a token's span is a range");
    }
    static_cast<void>(tokenizer.decode(encoding.ids()));
  });
}

}  // namespace attn::fuzz
