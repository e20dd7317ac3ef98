#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <vector>

#include "tests/model/hub/hub_fixture.h"

namespace attn::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(HubPull, BrokenDownloadResumesWhereItStopped) {
  hub_.next("/store/", {.cut = 100'000});
  expect_whole(pull());
  std::vector<std::string> ranges;
  for (const auto& one : hub_.seen())
    if (one.at_store) ranges.push_back(one.range);
  EXPECT_THAT(ranges, testing::ElementsAre("", "bytes=100000-"));
}

TEST_F(HubPull, EndlessBreaksAreAnErrorAndTheNextPullResumes) {
  hub_.next("/store/", {.cut = 1000});
  hub_.next("/store/", {.cut = 0}, 4);
  EXPECT_THAT(message(), AllOf(HasSubstr("stopped after 1000 of 300000 bytes"), HasSubstr("next pull resumes")));
  EXPECT_EQ(fs::file_size(partial()), 1000U);
  expect_nothing_in_snapshots();
  hub_.forget();
  expect_whole(pull());
  EXPECT_EQ(hub_.seen().back().range, "bytes=1000-");
  EXPECT_FALSE(fs::exists(partial()));
  EXPECT_EQ(hub_.count("GET", "vocab.txt"), 0U) << "complete files are not downloaded again";
}

TEST_F(HubPull, ProgressResetsTheRetryCount) {
  for (std::size_t i = 0; i < 10; ++i) hub_.next("/store/", {.cut = 10'000});
  expect_whole(pull());
}

TEST_F(HubPull, ServerWithoutRangesStartsOver) {
  hub_.set({.knows_ranges = false});
  hub_.next("/store/", {.cut = 50'000});
  expect_whole(pull());
  EXPECT_EQ(hub_.seen().back().range, "bytes=50000-");
}

TEST_F(HubPull, ServerWithoutRangesThatAlwaysBreaksFails) {
  hub_.set({.knows_ranges = false});
  hub_.next("/store/", {.cut = 50'000}, 20);
  EXPECT_THAT(message(), HasSubstr("stopped after"));
  EXPECT_EQ(hub_.count("GET", "/store/"), 4U);
}

TEST_F(HubPull, WrongRangeIsNotUsed) {
  hub_.next("/store/", {.cut = 50'000});
  hub_.next("/store/", {.headers = {{"Content-Range", "bytes 7-299999/300000"}}});
  expect_whole(pull());
}

TEST_F(HubPull, RangeThatCannotBeServedStartsOver) {
  hub_.next("/store/", {.cut = 50'000});
  hub_.next("/store/", {.status = 416});
  expect_whole(pull());
  EXPECT_EQ(hub_.seen().back().range, "");
}

TEST_F(HubPull, PartialFileLongerThanTheFileStartsOver) {
  fs::create_directories(partial().parent_path());
  std::ofstream(partial()) << std::string(400'000, 'x');
  expect_whole(pull());
}

TEST_F(HubPull, ShortFileIsRefused) {
  hub_.next("/store/", {.body = "short"});
  EXPECT_THAT(message(), HasSubstr("model.safetensors should have 300000 bytes, but only 5 arrived"));
  EXPECT_FALSE(fs::exists(partial()));
  expect_nothing_in_snapshots();
  expect_whole(pull());
}

TEST_F(HubPull, LongFileIsRefusedBeforeMoreOfItIsWritten) {
  hub_.next("/store/", {.body = std::string(3'000'000, 'x')});
  std::int64_t most = 0;
  const auto watch = [&](const model::Progress& now) { return most = std::max(most, now.file_bytes), true; };
  const std::string words = error_of([&] { (void)model::pull({"owner/tiny", "main", watch}, settings_); }).what();
  EXPECT_THAT(words, HasSubstr("should have 300000 bytes, but more arrived"));
  EXPECT_LE(most, 300'000);
  EXPECT_FALSE(fs::exists(partial()));
  expect_nothing_in_snapshots();
}

TEST_F(HubPull, WrongHashOfALargeFileIsRefused) {
  hub_.next("/store/", {.body = std::string(300'000, 'x')});
  EXPECT_THAT(message(),
              AllOf(HasSubstr("model.safetensors was corrupted in transit"), HasSubstr(hub_.hash(kWeights))));
  EXPECT_FALSE(fs::exists(partial()));
  expect_nothing_in_snapshots();
  expect_whole(pull());
}

TEST_F(HubPull, WrongHashOfASmallFileIsRefused) {
  hub_.next("vocab.txt", {.body = std::string(hub_.content("vocab.txt").size(), 'x')});
  EXPECT_THAT(message(), HasSubstr("vocab.txt was corrupted in transit"));
  expect_nothing_in_snapshots();
}

TEST_F(HubPull, EndlessRedirectsAreAnError) {
  hub_.next("/api/", {.status = 307, .headers = {{"Location", "/api/models/owner/tiny/revision/main"}}}, 100);
  EXPECT_THAT(message(), HasSubstr("too many other redirects"));
}

TEST_F(HubPull, RedirectToALocalFileIsNotFollowed) {
  hub_.next("/resolve/", {.status = 302, .headers = {{"Location", "file:///etc/passwd"}}});
  EXPECT_THAT(message(), HasSubstr("file:///etc/passwd, which this program does not follow"));
}

TEST_F(HubPull, UnauthorizedExplainsHowToSetAToken) {
  hub_.set({.token = "hf_secret"});
  EXPECT_THAT(message(), AllOf(HasSubstr("401"), HasSubstr("set HF_TOKEN"), HasSubstr("/settings/tokens")));
  settings_.token = "hf_wrong";
  EXPECT_THAT(message(), AllOf(HasSubstr("token that was sent"), Not(HasSubstr("hf_wrong"))));
}

TEST_F(HubPull, ForbiddenSaysWhereToAcceptTheLicence) {
  hub_.next("/resolve/", {.status = 403, .headers = {{"X-Error-Message", "Ask the\tauthors"}}});
  EXPECT_THAT(message(), AllOf(HasSubstr("403"), HasSubstr(hub_.endpoint() + "/owner/tiny"), HasSubstr("licence"),
                               HasSubstr("the hub says: Ask the")));
  hub_.next("/resolve/", {.status = 401, .headers = {{"X-Error-Code", "GatedRepo"}}});
  EXPECT_THAT(message(), HasSubstr("its licence must be accepted first"));
}

TEST_F(HubPull, NotFoundNamesModelAndHub) {
  EXPECT_THAT(message("owner/tinny"),
              AllOf(HasSubstr("owner/tinny"), HasSubstr("404"), HasSubstr(hub_.endpoint()), HasSubstr("spelling")));
  EXPECT_EQ(hub_.seen().size(), 1U) << "a retry would not help";
  hub_.next("/api/", {.status = 404, .headers = {{"X-Error-Code", "RevisionNotFound"}}});
  EXPECT_THAT(message(), HasSubstr("has no revision 'main'"));
}

TEST_F(HubPull, ServerErrorIsRetried) {
  hub_.next("/api/", {.status = 500}, 2);
  hub_.next("/resolve/", {.status = 503});
  hub_.next("/store/", {.status = 504});
  expect_whole(pull());
  hub_.next("/api/", {.status = 502}, 4);
  EXPECT_THAT(message(), AllOf(HasSubstr("502"), HasSubstr("later")));
}

TEST_F(HubPull, RetryAfterIsRespectedUpToTheLongestPause) {
  settings_.patience.longest_pause = milliseconds(250);
  hub_.next("/api/", {.status = 429, .headers = {{"Retry-After", "3600"}}});
  const auto start = std::chrono::steady_clock::now();
  expect_whole(pull());
  const auto took = std::chrono::steady_clock::now() - start;
  EXPECT_GE(took, milliseconds(250));
  EXPECT_LT(took, milliseconds(5000));
  hub_.next("/api/", {.status = 429}, 4);
  EXPECT_THAT(message(), HasSubstr("too many requests"));
}

TEST_F(HubPull, StallTimesOutAndResumes) {
  settings_.patience.timeout = milliseconds(200);
  hub_.next("/store/", {.cut = 70'000, .stall = true});
  expect_whole(pull());
  EXPECT_EQ(hub_.seen().back().range, "bytes=70000-");
}

TEST_F(HubPull, UnreachableEndpointIsAnErrorAtOnce) {
  settings_.endpoint = "http://127.0.0.1:1";
  settings_.patience.pause = settings_.patience.longest_pause = milliseconds(60'000);
  EXPECT_THAT(message(), AllOf(HasSubstr("http://127.0.0.1:1 cannot be reached"), HasSubstr("HF_ENDPOINT")));
}

TEST_F(HubPull, InvalidResponsesAreErrors) {
  hub_.set({.listed_commit = "../../../../tmp"});
  EXPECT_THAT(message(), HasSubstr("40 hexadecimal digits"));
  hub_.set({});
  for (const char* body : {"", "<html>", "{}", "[]", "null", R"({"sha": 1})", R"({"sha": "x", "siblings": 3})",
                           R"({"sha": "0123456789abcdef0123456789abcdef01234567", "siblings": [1]})"}) {
    hub_.next("/api/", {.body = body});
    EXPECT_THAT(message(), HasSubstr("/api/models/owner/tiny")) << body;
  }
  hub_.set({.lists_sizes = false});
  hub_.next("/resolve/", {.headers = {{"ETag", "\"../../evil\""}}});
  EXPECT_THAT(message(), HasSubstr("does not give the hash of config.json"));
  hub_.next("/resolve/", {.headers = {{"X-Repo-Commit", "another"}}});
  EXPECT_THAT(message(), HasSubstr("returned 'another'"));
}

TEST_F(HubPull, FullDiskIsAnErrorWithThePath) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit low{100'000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  const std::string words = message();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(words, AllOf(HasSubstr(partial().string()), HasSubstr("File too large")));
  EXPECT_EQ(fs::file_size(partial()), 100'000U);
  expect_nothing_in_snapshots();
  expect_whole(pull());
}

TEST_F(HubPull, TooLittleSpaceIsReportedBeforeDownloading) {
  const std::string hash(64, 'a');
  hub_.next("/api/", {.body = R"({"sha": ")" + FakeHub::commit() + R"(", "siblings": [{"rfilename": "config.json"},)" +
                              R"({"rfilename": "model.safetensors", "lfs": {"size": 4611686018427387904, "sha256": ")" +
                              hash + R"("}}]})"});
  EXPECT_THAT(message(), AllOf(HasSubstr(settings_.cache.string()), HasSubstr("free on this disk")));
  EXPECT_EQ(hub_.count("GET", "/resolve/"), 0U);
}

TEST_F(HubPull, CacheThatCannotBeWrittenIsAnError) {
  std::ofstream(settings_.cache) << "a file where the folder should be";
  EXPECT_THAT(message(), HasSubstr(settings_.cache.string()));
}

}  // namespace
}  // namespace attn::test
