// support/golden.cc
#include "tests/support/golden.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace attn::test {
namespace {

std::vector<float> read_floats(std::istream& in, std::int64_t count) {
  std::vector<float> x(static_cast<std::size_t>(count));
  in.read(reinterpret_cast<char*>(x.data()), static_cast<std::streamsize>(x.size() * sizeof(float)));
  if (!in) throw std::runtime_error("the golden file ends in the middle of a case");
  return x;
}

}  // namespace

const std::string& GoldenCase::text(const std::string& key) const { return keys.at(key); }
std::int64_t GoldenCase::whole(const std::string& key) const { return std::stoll(text(key)); }
float GoldenCase::number(const std::string& key) const { return std::stof(text(key)); }
std::uint64_t GoldenCase::stream(std::uint64_t n) const { return 10 * static_cast<std::uint64_t>(whole("seed")) + n; }

Type GoldenCase::type() const {
  if (text("type") == "float16") return Type::float16;
  return text("type") == "bfloat16" ? Type::bfloat16 : Type::float32;
}

std::vector<GoldenCase> read_golden(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("no golden file at " + path);
  std::vector<GoldenCase> cases;
  for (std::string line; std::getline(file, line);) {
    GoldenCase c;
    std::istringstream words(line);
    words >> c.name;
    for (std::string word; words >> word;) c.keys[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
    const std::int64_t rows = c.whole("B") * c.whole("H") * c.whole("N");
    c.out = read_floats(file, rows * c.whole("E"));
    if (c.text("kind") != "linear") c.lse = read_floats(file, rows);
    cases.push_back(std::move(c));
  }
  return cases;
}

}  // namespace attn::test
