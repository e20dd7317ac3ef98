// Attention on real words, in C++.
#include <attn/attn.h>

#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "../numbers.h"

namespace {

// [vectors]
const std::map<std::string, std::vector<float>> kVocabulary = {
    {"我", {1.0F, 0.2F, 0.5F, 0.8F}}, {"喜欢", {0.8F, 0.9F, 0.1F, 0.3F}}, {"学习", {0.6F, 0.4F, 0.8F, 0.7F}},
    {"AI", {0.3F, 0.7F, 0.6F, 0.9F}}, {"技术", {0.5F, 0.5F, 0.7F, 0.6F}}, {"编程", {0.7F, 0.3F, 0.6F, 0.8F}},
    {"很", {0.4F, 0.6F, 0.3F, 0.5F}}, {"有趣", {0.9F, 0.8F, 0.4F, 0.2F}},
};

// [look]
std::vector<float> look(const std::string& sentence, attn::ThreadPool& pool) {
  std::vector<float> x;
  std::istringstream words(sentence);
  for (std::string word; words >> word;) {
    const auto found = kVocabulary.find(word);
    if (found == kVocabulary.end()) throw std::invalid_argument("there is no vector for " + word);
    x.insert(x.end(), found->second.begin(), found->second.end());
  }
  const auto count = static_cast<std::int64_t>(x.size() / 4);
  const attn::View<const float, 4> rows(x.data(), {1, 1, count, 4});
  std::vector<float> out(x.size()), weights(count * count);
  attn::attention({rows, rows, rows}, {}, {out.data(), {1, 1, count, 4}}, {}, {weights.data(), {1, 1, count, count}},
                  pool);
  return weights;
}

// []
}  // namespace

int main() {
  attn::ThreadPool pool;
  // [sentences]
  const std::vector<float> first = look("我 喜欢 学习 AI 技术", pool), second = look("编程 很 有趣", pool),
                           third = look("我 喜欢 编程", pool);

  // []
  lesson::print({{"weights", {5, 5}, first}, {"second_weights", {3, 3}, second}, {"third_weights", {3, 3}, third}});
}
