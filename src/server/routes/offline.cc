#include "server/routes/offline.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "base/markup.h"
#include "base/parallel_for.h"
#include "server/http/compress.h"
#include "server/http/encode.h"
#include "server/routes/facts.h"
#include "server/routes/record_request_json.h"

namespace attn::server {

namespace {

using base::base64;
using base::escaped;
using insight::HeadId;

std::int64_t weights_of(const insight::AttentionStack& stack) { return stack.queries * stack.keys; }

// The heads that fit into the file, in order.
struct HeadChoice {
  Bits bits = Bits::eight;
  std::vector<HeadId> heads;
};

HeadChoice choose(const insight::AttentionTables& tables, const insight::HeadsReport& report) {
  std::int64_t all = 0;
  for (const insight::AttentionStack& stack : tables.stacks()) all += stack.layers * stack.heads * weights_of(stack);
  if (2 * all <= kMostExact) return {Bits::sixteen, tables.heads()};
  if (all <= kMostBytes) return {Bits::eight, tables.heads()};
  std::vector<std::size_t> places;
  std::int64_t left = kMostBytes;
  for (const std::size_t place : report.ranking) {
    const std::int64_t size = weights_of(tables.stack(report.heads[place].statistics.name.kind));
    if (size > left) continue;
    left -= size;
    places.push_back(place);
  }
  std::ranges::sort(places);
  HeadChoice choice;
  for (const std::size_t place : places) choice.heads.push_back(report.heads[place].statistics.name);
  return choice;
}

// Encodes a few rows at a time, so that no head's table is in memory as floats.
std::string coded_head(const insight::AttentionTables& tables, const HeadId& head, Bits bits) {
  constexpr std::int64_t kRows = 64;
  const insight::AttentionStack& all = tables.stack(head.kind);
  ThreadPool alone(1);
  nn::Matrix part(std::min(kRows, all.queries), all.keys);
  std::string bytes;
  bytes.reserve(static_cast<std::size_t>(weights_of(all)) * (bits == Bits::eight ? 1 : 2));
  for (std::int64_t row = 0; row < all.queries; row += kRows) {
    const View<float, 2> rows = nn::rows_of(part.view(), 0, std::min(kRows, all.queries - row));
    tables.weights(head, {row, 0}, rows, alone);
    append_coded(bytes, {rows.data, static_cast<std::size_t>(rows.size())}, bits);
  }
  return bytes;
}

// The blocks of the file, and a list of their names, shapes and offsets.
class OfflineBlocks {
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

// Forbids everything but the page's own scripts, which are identified by their hashes. The data is not a script.
std::string policy_for(std::string_view page) {
  std::string hashes;
  for (std::size_t at = page.find("<script"); at != std::string_view::npos; at = page.find("<script", at + 1)) {
    const std::size_t begin = page.find('>', at) + 1, end = page.find("</script>", begin);
    if (begin == 0 || end == std::string_view::npos) break;
    const std::string_view script = page.substr(begin, end - begin);
    hashes += " 'sha256-" + base64(sha256(script)) + "'";
    at = end;
  }
  return "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src" +
         (hashes.empty() ? " 'none'" : hashes) +
         "; style-src 'unsafe-inline'; img-src data: blob:; worker-src blob:; base-uri 'none'; form-action 'none'\">";
}

}  // namespace

std::string offline_data(const StoredRecording& stored, bool words, ThreadPool& pool, const base::Progress& progress) {
  const StoredTables& stored_tables = stored.stored_tables(words);
  const insight::AttentionTables& tables = stored_tables.tables();
  const HeadSummary& summary = stored_tables.summary(pool, progress);
  OfflineBlocks blocks;
  for (const insight::AttentionStack& stack : tables.stacks()) {
    const std::string& bytes = summary.thumbnails.at(stack.kind);
    const std::int64_t rows = std::min(kThumbnail, stack.queries), columns = std::min(kThumbnail, stack.keys);
    blocks.add("thumbnails/" + std::string(name_of(stack.kind)), Bits::eight,
               {stack.layers * stack.heads, rows, columns}, bytes);
  }
  const HeadChoice choice = choose(tables, summary.report);
  std::vector<std::string> packed(choice.heads.size());
  base::parallel_for(std::ssize(packed), progress, pool, [&](std::int64_t n) {
    const auto at = static_cast<std::size_t>(n);
    packed[at] = coded_head(tables, choice.heads[at], choice.bits);
  });
  for (std::size_t n = 0; n < packed.size(); ++n) {
    const auto& [kind, layer, head] = choice.heads[n];
    const insight::AttentionStack& stack = tables.stack(kind);
    blocks.add("head/" + std::string(name_of(kind)) + "/" + std::to_string(layer) + "/" + std::to_string(head),
               choice.bits, {stack.queries, stack.keys}, std::exchange(packed[n], {}));
  }
  const std::string json =
      insight::as_line(Json{{"facts", facts(stored, stored_tables, summary)}, {"blocks", blocks.list()}});
  const auto length = static_cast<std::uint32_t>(json.size());
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + json + blocks.bytes();
}

std::string offline_page(std::string_view page, const StoredRecording& stored, const Begin& begin, ThreadPool& pool,
                         const base::Progress& progress) {
  constexpr std::string_view kPlace = "<!--attnscope-data-->", kHead = "<head>";
  const std::size_t place = page.find(kPlace), head = page.find(kHead);
  if (place == std::string_view::npos || head == std::string_view::npos || head > place)
    throw std::runtime_error("this program was built without its page: it cannot be exported");
  const std::string data = base64(deflated(offline_data(stored, begin.words, pool, progress)));
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
