#include "server/routes/offline.h"

#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/markup.h"
#include "base/parallel_for.h"
#include "server/http/encode.h"
#include "server/routes/facts.h"
#include "server/routes/record_request_json.h"

namespace attn::server {

namespace {

using insight::HeadName;
using text::base64;
using text::escaped;

std::int64_t weights_of(const insight::Stack& stack) { return stack.queries * stack.keys; }

// Which heads there is room for, in their order.
struct Choice {
  Bits bits = Bits::eight;
  std::vector<HeadName> heads;
};

Choice choose(const insight::Specimen& specimen, const insight::HeadsReport& report) {
  std::int64_t all = 0;
  for (const insight::Stack& stack : specimen.stacks()) all += stack.layers * stack.heads * weights_of(stack);
  if (2 * all <= kMostExact) return {Bits::sixteen, specimen.heads()};
  if (all <= kMostBytes) return {Bits::eight, specimen.heads()};
  std::vector<std::size_t> places;
  std::int64_t left = kMostBytes;
  for (const std::size_t place : report.ranking) {
    const std::int64_t size = weights_of(specimen.stack(report.heads[place].statistics.name.kind));
    if (size > left) continue;
    left -= size;
    places.push_back(place);
  }
  std::ranges::sort(places);
  Choice choice;
  for (const std::size_t place : places) choice.heads.push_back(report.heads[place].statistics.name);
  return choice;
}

// A few rows at a time, so that no head's table is in memory as floats.
std::string coded_head(const insight::Specimen& specimen, const HeadName& head, Bits bits) {
  constexpr std::int64_t kRows = 64;
  const insight::Stack& all = specimen.stack(head.kind);
  ThreadPool alone(1);
  nn::Matrix part(std::min(kRows, all.queries), all.keys);
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(weights_of(all)) * (bits == Bits::eight ? 1 : 2));
  for (std::int64_t row = 0; row < all.queries; row += kRows) {
    const View<float, 2> rows = nn::rows_of(part.view(), 0, std::min(kRows, all.queries - row));
    specimen.weights(head, {row, 0}, rows, alone);
    append_coded(bytes, {rows.data, static_cast<std::size_t>(rows.size())}, bits);
  }
  return bytes;
}

// Blocks and where they lie.
class Blocks {
 public:
  void add(const std::string& name, Bits bits, std::vector<std::int64_t> shape, const std::string& bytes) {
    list_.push_back(
        {{"name", name}, {"bits", static_cast<int>(bits)}, {"shape", std::move(shape)}, {"offset", bytes_.size()}});
    bytes_ += bytes;
  }
  [[nodiscard]] Json list() const { return list_; }
  [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

 private:
  Json list_ = Json::array();
  std::string bytes_;
};

// Everything but the page's own scripts is forbidden; they are known by what they say. Data is no script.
std::string policy_for(std::string_view page) {
  std::string hashes;
  for (std::size_t at = page.find("<script"); at != std::string_view::npos; at = page.find("<script", at + 1)) {
    const std::size_t begin = page.find('>', at) + 1, end = page.find("</script>", begin);
    if (begin == 0 || end == std::string_view::npos) break;
    const std::string_view script = page.substr(begin, end - begin);
    std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
    SHA256(reinterpret_cast<const unsigned char*>(script.data()), script.size(), digest.data());
    hashes += " 'sha256-" + base64({reinterpret_cast<const char*>(digest.data()), digest.size()}) + "'";
    at = end;
  }
  return "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src" +
         (hashes.empty() ? " 'none'" : hashes) +
         "; style-src 'unsafe-inline'; img-src data: blob:; worker-src blob:; base-uri 'none'; form-action 'none'\">";
}

}  // namespace

std::string offline_data(const Exhibit& exhibit, bool words, ThreadPool& pool, const insight::Progress& progress) {
  const Exposure& exposure = exhibit.exposure(words);
  const insight::Specimen& specimen = exposure.specimen();
  const Survey& survey = exposure.survey(pool, progress);
  Blocks blocks;
  for (const insight::Stack& stack : specimen.stacks()) {
    const std::string& bytes = survey.thumbnails.at(stack.kind);
    const std::int64_t rows = std::min(kThumbnail, stack.queries), columns = std::min(kThumbnail, stack.keys);
    blocks.add("thumbnails/" + std::string(name_of(stack.kind)), Bits::eight,
               {stack.layers * stack.heads, rows, columns}, bytes);
  }
  const Choice choice = choose(specimen, survey.report);
  std::vector<std::string> tables(choice.heads.size());
  insight::each_head(std::ssize(tables), progress, pool, [&](std::int64_t n) {
    const auto at = static_cast<std::size_t>(n);
    tables[at] = coded_head(specimen, choice.heads[at], choice.bits);
  });
  for (std::size_t n = 0; n < tables.size(); ++n) {
    const auto& [kind, layer, head] = choice.heads[n];
    const insight::Stack& stack = specimen.stack(kind);
    blocks.add("head/" + std::string(name_of(kind)) + "/" + std::to_string(layer) + "/" + std::to_string(head),
               choice.bits, {stack.queries, stack.keys}, std::exchange(tables[n], {}));
  }
  const std::string json =
      insight::as_line(Json{{"facts", facts(exhibit, exposure, survey)}, {"blocks", blocks.list()}});
  const auto length = static_cast<std::uint32_t>(json.size());
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + json + blocks.bytes();
}

std::string offline_page(std::string_view page, const Exhibit& exhibit, const Begin& begin, ThreadPool& pool,
                         const insight::Progress& progress) {
  constexpr std::string_view kPlace = "<!--attnscope-data-->", kHead = "<head>";
  const std::size_t place = page.find(kPlace), head = page.find(kHead);
  if (place == std::string_view::npos || head == std::string_view::npos || head > place)
    throw std::runtime_error("this program was built without its page: there is nothing to put the weights into");
  const std::string data = base64(deflated(offline_data(exhibit, begin.words, pool, progress)));
  const std::size_t top = head + kHead.size();
  std::string out;
  out.reserve(page.size() + data.size() + 2000);
  out.append(page.substr(0, top)).append(policy_for(page)).append(page.substr(top, place - top));
  out.append("<script id=\"attnscope-data\" type=\"text/plain\" data-state=\"")
      .append(escaped(begin.state))
      .append("\">");
  out.append(data).append("</script>").append(page.substr(place + kPlace.size()));
  return out;
}

}  // namespace attn::server
