#include "model/hub/hub_client.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "attn/error.h"
#include "base/one_line.h"
#include "model/hub/hub_hash.h"

namespace attn::model {

using std::chrono::milliseconds;

namespace {

constexpr std::size_t kMostListingBytes = std::size_t{64} << 20;

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// Strips the quotation marks of an ETag, and a leading W/.
std::string plain_etag(std::string text) {
  if (text.starts_with("W/")) text.erase(0, 2);
  std::erase(text, '"');
  return text;
}

// Offset in the file at which the response's bytes begin; none if they are unusable.
std::optional<std::int64_t> first_byte(const HttpAnswer& head) {
  if (head.status == 200) return 0;
  const std::string range = head.header("content-range");  // "bytes 100-199/200"
  constexpr std::string_view kStart = "bytes ";
  if (!range.starts_with(kStart)) return std::nullopt;
  return whole_number(std::string_view(range).substr(kStart.size(), range.find('-') - kStart.size()));
}

bool is_success(const HttpAnswer& answer) {
  return answer.failure.empty() && (answer.status == 200 || answer.status == 206);
}

}  // namespace

// Counts the attempts of one request and waits between them.
class HubClient::Tries {
 public:
  explicit Tries(const HubClient& hub) : hub_(hub) {}

  // Data arrived: reset the count.
  void progress() noexcept { used_ = 0; }

  // Waits, then returns true; returns false at once if another attempt is pointless or the limit is reached.
  bool again(const HttpAnswer& answer) {
    const Patience& patience = hub_.settings_.patience;
    if (!may_pass(answer) || used_ >= patience.retries) return false;
    milliseconds pause = patience.pause * (1 << std::min(used_, 16));
    if (const auto seconds = whole_number(answer.header("retry-after")))
      pause = milliseconds(1000) * std::min<std::int64_t>(*seconds, 86'400);
    ++used_;
    wait(std::min(pause, patience.longest_pause));
    return true;
  }

 private:
  [[nodiscard]] bool may_pass(const HttpAnswer& answer) const {
    // A host that has never responded is misspelt or unreachable: fail at once instead of retrying.
    if (answer.status == 0) return hub_.http_.reached();
    if (answer.is_redirect()) return false;
    return !answer.failure.empty() || answer.status == 408 || answer.status == 429 || answer.status == 500 ||
           (answer.status >= 502 && answer.status <= 504);
  }
  void wait(milliseconds pause) const {
    const auto end = std::chrono::steady_clock::now() + pause;
    for (auto now = std::chrono::steady_clock::now(); now < end; now = std::chrono::steady_clock::now()) {
      hub_.pulse_();
      std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(end - now, milliseconds(100)));
    }
  }

  const HubClient& hub_;
  int used_ = 0;
};

HubClient::HubClient(const HubSettings& settings, const Pull& what, std::function<void()> pulse)
    : settings_(settings),
      what_(what),
      pulse_(std::move(pulse)),
      http_({settings.endpoint, settings.token, settings.patience.timeout, pulse_}) {}

Listing HubClient::list() {
  const std::string url =
      settings_.endpoint + "/api/models/" + what_.name + "/revision/" + url_escaped(what_.revision) + "?blobs=true";
  for (Tries tries(*this);;) {
    std::string body;
    const HttpAnswer answer = http_.get(url, 0, [&](const HttpAnswer&, std::string_view piece) {
      if (body.size() + piece.size() > kMostListingBytes) throw Error(url, "returned more than 64 MiB of JSON");
      body += piece;
      return true;
    });
    if (is_success(answer)) return Listing::parse(body, url);
    if (!tries.again(answer)) refuse(answer, "");
  }
}

// The response of the hub itself: that of the last redirect that stays on its host. For a large file, size and hash are
// in the redirect to its storage.
HttpAnswer HubClient::head_at_home(const std::string& url) {
  HttpAnswer answer = http_.head(url);
  for (int i = 0; i < kMostRedirects && answer.is_redirect() && answer.header("x-linked-etag").empty(); ++i) {
    const std::string next = HttpClient::target(answer);
    if (next.empty() || !http_.is_home(next)) break;
    answer = http_.head(next);
  }
  return answer;
}

void HubClient::identify(RemoteFile& file, const std::string& commit) {
  if (file.is_known()) return;
  HttpAnswer answer;
  for (Tries tries(*this);;) {
    answer = head_at_home(file_url(file, commit));
    if (is_success(answer) || (answer.failure.empty() && answer.is_redirect())) break;
    if (!tries.again(answer)) refuse(answer, file.name);
  }
  const std::string linked_etag = answer.header("x-linked-etag"), linked_size = answer.header("x-linked-size");
  const std::string etag = plain_etag(linked_etag.empty() ? answer.header("etag") : linked_etag);
  if (file.hash.empty() && (is_sha256(etag) || is_git_sha1(etag))) file.hash = etag;
  // A redirect's content-length is that of its own body, not of the file.
  const std::string size = linked_size.empty() && !answer.is_redirect() ? answer.header("content-length") : linked_size;
  if (file.size < 0) file.size = whole_number(size).value_or(-1);
  if (const std::string other = answer.header("x-repo-commit"); !other.empty() && other != commit)
    throw Error(what_.name, "requested " + file.name + " of commit " + commit + ", but " + settings_.endpoint +
                                " returned " + base::in_quotes(other));
  if (!file.is_known())
    throw Error(what_.name, settings_.endpoint + " does not give the " + (file.size < 0 ? "length" : "hash") + " of " +
                                file.name + ", so it cannot be verified");
}

void HubClient::download(const RemoteFile& file, const std::string& commit, PartialFile& into,
                         const std::function<void(std::int64_t)>& on_size) {
  const auto wrong_length = [&](const std::string& found) {
    into.remove();
    throw Error(what_.name, file.name + " should have " + std::to_string(file.size) + " bytes, but " + found +
                                " arrived; pull again to start over");
  };
  std::int64_t best = into.size();
  Tries tries(*this);
  while (into.size() < file.size) {
    const std::int64_t from = into.size();
    bool first = true, too_long = false;
    const HttpAnswer answer =
        http_.get(file_url(file, commit), from, [&](const HttpAnswer& head, std::string_view piece) {
          const auto start = std::exchange(first, false) ? first_byte(head) : into.size();
          if (start != into.size()) into.start_over();  // the server ignored the range
          if (start.value_or(-1) != into.size()) return false;
          too_long = into.size() + static_cast<std::int64_t>(piece.size()) > file.size;
          if (too_long) return false;
          into.append(piece);
          on_size(into.size());
          return true;
        });
    if (too_long) wrong_length("more");
    if (into.size() == file.size) return;
    if (is_success(answer)) wrong_length("only " + std::to_string(into.size()));
    if (into.size() > best) tries.progress();
    best = std::max(best, into.size());
    const bool out_of_range = answer.status == 416 && from > 0;
    if (out_of_range)
      into.start_over();
    else if (!tries.again(answer))
      refuse(answer,
             file.name + (into.size() > 0 ? " stopped after " + std::to_string(into.size()) + " of " +
                                                std::to_string(file.size) + " bytes; the next pull resumes from there"
                                          : ""));
  }
}

std::string HubClient::file_url(const RemoteFile& file, const std::string& commit) const {
  return settings_.endpoint + "/" + what_.name + "/resolve/" + commit + "/" + url_escaped(file.name);
}

void HubClient::refuse(const HttpAnswer& answer, const std::string& what) const {
  const std::string words = answer.header("x-error-message");
  throw Error(what_.name, (what.empty() ? "" : what + ": ") + why(answer) +
                              (words.empty() ? "" : " (the hub says: " + base::one_line(words) + ")"));
}

std::string HubClient::why(const HttpAnswer& answer) const {
  const std::string& hub = settings_.endpoint;
  const std::string code = answer.header("x-error-code");
  const std::string number = " (" + std::to_string(answer.status) + ")";
  if (answer.no_certificates)
    return hub + " cannot be verified because this machine has no certificates: apt install ca-certificates, or set " +
           "SSL_CERT_FILE";
  if (answer.status == 0)
    return hub + " cannot be reached: " + base::one_line(answer.failure) +
           "; check the network, the proxy and HF_ENDPOINT";
  if (!answer.failure.empty()) return base::one_line(answer.failure);
  if (code == "GatedRepo")
    return "its licence must be accepted first, at " + hub + "/" + what_.name + number + "; then " +
           how_to_be_allowed();
  if (code == "RevisionNotFound") return "has no revision " + base::in_quotes(what_.revision) + " on " + hub + number;
  if (answer.status == 401)
    return "not on " + hub + ", or not public" + number + ": check the name; " + how_to_be_allowed();
  if (answer.status == 403)
    return hub + " denied access" + number + ": accept the model's licence at " + hub + "/" + what_.name + ", and " +
           how_to_be_allowed();
  if (answer.status == 404)
    return "not found on " + hub + number +
           ": check the spelling (most models are called \"owner/name\") and the revision " +
           base::in_quotes(what_.revision) + "; a private model needs a token in HF_TOKEN";
  if (answer.status == 429) return hub + " received too many requests" + number + "; pull again later";
  if (answer.status >= 500) return hub + " has a server error" + number + "; pull again later";
  return hub + " returned the unexpected status " + std::to_string(answer.status);
}

std::string HubClient::how_to_be_allowed() const {
  if (!settings_.token.empty())
    return "check that the token that was sent (HF_TOKEN, or the file token in HF_HOME) may read it";
  return "set HF_TOKEN to a token that may read it (" + settings_.endpoint + "/settings/tokens)";
}

}  // namespace attn::model
