#include "text/datasets/data_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace attn::text {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class DataSets : public testing::Test {
 protected:
  std::vector<std::string> texts(const std::string& name, const std::string& content,
                                 const std::optional<std::string>& column = std::nullopt) {
    DataSet set(folder_.write(name, content), column);
    std::vector<std::string> all;
    while (const auto text = set.next()) all.push_back(*text);
    return all;
  }
  std::string problem(const std::string& name, const std::string& content,
                      const std::optional<std::string>& column = std::nullopt) {
    return test::error_of([&] { texts(name, content, column); }).what();
  }

  test::TemporaryFolder folder_;
};

TEST_F(DataSets, PlainFileHasOneTextPerLine) {
  EXPECT_THAT(texts("a.txt", "one\r\ntwo\n\nfour"), ElementsAre("one", "two", "", "four"));
  EXPECT_THAT(texts("a.txt", ""), ElementsAre());
}

TEST_F(DataSets, CsvKeepsNewLinesCommasAndQuotationMarks) {
  EXPECT_THAT(texts("a.csv", "review,label\r\n\"a, b\nc \"\"d\"\"\",1\r\nplain,0\r\n"),
              ElementsAre("a, b\nc \"d\"", "plain"));
}

TEST_F(DataSets, CsvColumnIsTheNamedOneAUsualOneOrTheLongest) {
  const std::string rows = "id,text,title\n1,short,much much longer\n2,s,t\n";
  EXPECT_THAT(texts("a.csv", rows), ElementsAre("short", "s"));
  EXPECT_THAT(texts("a.csv", rows, "title"), ElementsAre("much much longer", "t"));
  EXPECT_THAT(texts("a.csv", "id,a,b\n1,x,a long text\n2,y,another\n"), ElementsAre("a long text", "another"));
}

TEST_F(DataSets, JsonLinesUseTextOrTheRequestedKey) {
  EXPECT_THAT(texts("a.jsonl", "{\"text\": \"a\\nb\"}\n\n{\"text\": \"é\"}"), ElementsAre("a\nb", "é"));
  EXPECT_THAT(texts("a.jsonl", "{\"body\": \"a\"}", "body"), ElementsAre("a"));
}

TEST_F(DataSets, InvalidUtf8IsRefusedWithItsLine) {
  EXPECT_THAT(problem("a.txt", "ok\na\xFFz\n"), HasSubstr("line 2 is not UTF-8"));
}

TEST_F(DataSets, ProblemsNameTheLineAndTheColumns) {
  EXPECT_THAT(problem("a.csv", "a,b\n1,2\n", "text"), HasSubstr("has no column 'text', only: a, b"));
  EXPECT_THAT(problem("a.csv", "text\n\"open"), HasSubstr("never closed"));
  EXPECT_THAT(problem("a.csv", "id,text\n1\n"), HasSubstr("line 2 has 1 cells"));
  EXPECT_THAT(problem("a.csv", ""), HasSubstr("is empty"));
  EXPECT_THAT(problem("a.jsonl", "{\"text\": \"a\"}\n[1]\n"), HasSubstr("line 2 is not a JSON object"));
  EXPECT_THAT(problem("a.jsonl", "{\"text\": \"a\"}\n{\"text\": }\n"), HasSubstr("a.jsonl, line 2, byte 9: not JSON"));
  EXPECT_THAT(problem("a.jsonl", "{\"text\": " + std::string(100'000, '[') + "\n"),
              HasSubstr("line 1, byte 72: nested"));
  EXPECT_THAT(problem("a.jsonl", "{\"text\": 1e99999}\n"), HasSubstr("line 1: contains a number that is out of range"));
  EXPECT_THAT(problem("a.jsonl", "{\"body\": 1}\n"), HasSubstr("no text under \"text\""));
  EXPECT_THAT(problem("a.txt", "x", "text"), HasSubstr("has no columns"));
  EXPECT_THAT(std::string(test::error_of([&] { DataSet set(folder_.path()); }).what()), HasSubstr("not a file"));
}

TEST_F(DataSets, FingerprintTellsFilesApart) {
  const DataSet a(folder_.write("a.txt", "one\n")), b(folder_.write("b.txt", "one\n")),
      c(folder_.write("c.txt", "two\n"));
  EXPECT_EQ(a.fingerprint(), b.fingerprint());
  EXPECT_NE(a.fingerprint(), c.fingerprint());
}

}  // namespace
}  // namespace attn::text
