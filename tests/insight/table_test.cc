#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "insight/io/table_file.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace attn::insight {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<float> numbers_of(const TableFile& file) {
  const nn::Matrix& m = file.tables.numbers;
  return {m.data(), m.data() + m.rows() * m.columns()};
}

class Tables : public testing::Test {
 protected:
  TableFile read(const std::string& name, const std::string& content) {
    return read_table(folder_.write(name, content));
  }
  std::string refusal(const std::string& name, const std::string& content) {
    const std::filesystem::path file = folder_.write(name, content);
    return error_of([&] { read_table(file); }).what();
  }

  test::TemporaryFolder folder_;
};

// ---- .csv ----

TEST_F(Tables, CsvWithoutNames) {
  const TableFile file = read("t.csv", "0.25,0.75\n1,0\r\n+.5,5e-1");
  EXPECT_THAT(numbers_of(file), ElementsAre(0.25F, 0.75F, 1, 0, 0.5F, 0.5F));
  EXPECT_EQ(file.tables.numbers.columns(), 2);
  EXPECT_THAT(file.queries, IsEmpty());
  EXPECT_THAT(file.keys, IsEmpty());
}

TEST_F(Tables, CsvWithNamesOfRowsAndColumns) {
  const TableFile file = read("t.csv", ",the,\"a,b\",\"say \"\"hi\"\"\"\nx,1,0,0\n\"two\nlines\",0,1,0\n");
  EXPECT_THAT(file.keys, ElementsAre("the", "a,b", "say \"hi\""));
  EXPECT_THAT(file.queries, ElementsAre("x", "two\nlines"));
  EXPECT_THAT(numbers_of(file), ElementsAre(1, 0, 0, 0, 1, 0));
}

TEST_F(Tables, CsvNamesMayLookLikeNumbersAfterAnEmptyCorner) {
  const TableFile file = read("t.csv", ",1,nan\n2024,0.5,0.5\n3,1,0\n");
  EXPECT_THAT(file.keys, ElementsAre("1", "nan"));
  EXPECT_THAT(file.queries, ElementsAre("2024", "3"));
}

TEST_F(Tables, CsvWithNamesOnOneSideOnly) {
  const TableFile columns = read("t.csv", "a,b\n0.5,0.5\n");
  EXPECT_THAT(columns.keys, ElementsAre("a", "b"));
  EXPECT_THAT(columns.queries, IsEmpty());
  EXPECT_THAT(numbers_of(columns), ElementsAre(0.5F, 0.5F));
  const TableFile rows = read("t.csv", "a,0.5,0.5\nb,1,0\n");
  EXPECT_THAT(rows.queries, ElementsAre("a", "b"));
  EXPECT_THAT(rows.keys, IsEmpty());
  const TableFile both = read("t.csv", "token,a,b\nx,0.5,0.5\n");
  EXPECT_THAT(both.keys, ElementsAre("a", "b"));
  EXPECT_THAT(both.queries, ElementsAre("x"));
}

TEST_F(Tables, CsvMayHaveAByteOrderMarkAndBlankLines) {
  EXPECT_THAT(numbers_of(read("t.csv",
                              "\xEF\xBB\xBF"
                              "1,0\n\n0,1\n\n")),
              ElementsAre(1, 0, 0, 1));
}

TEST_F(Tables, ErrorForBadCsvNamesLineAndColumn) {
  EXPECT_THAT(refusal("t.csv", "1,0\n1,0,0\n"), HasSubstr("t.csv: line 2 has 3 cells; the first has 2"));
  EXPECT_THAT(refusal("t.csv", "1,0\n\n0,x\n"), HasSubstr("line 3, column 2: 'x' is not a number"));
  EXPECT_THAT(refusal("t.csv", "1,0\nx,0\n"), HasSubstr("line 2, column 1: 'x' is not a number"));
  EXPECT_THAT(refusal("t.csv", "1,0\n1,0.5.5\n"), HasSubstr("line 2, column 2: '0.5.5' is not a number"));
  EXPECT_THAT(refusal("t.csv", "1,0\n1,\n"), HasSubstr("line 2, column 2: '' is not a number"));
  EXPECT_THAT(refusal("t.csv", "1,nan\n1,0\n"), HasSubstr("line 1, column 2: 'nan' is not finite"));
  EXPECT_THAT(refusal("t.csv", "1,0\n-inf,0\n"), HasSubstr("line 2, column 1: '-inf' is not finite"));
  EXPECT_THAT(refusal("t.csv", "1,1e99\n1,0\n"), HasSubstr("line 1, column 2: '1e99' is not finite"));
  EXPECT_THAT(refusal("t.csv", "a,\"b\n1,0\n"), HasSubstr("line 1: a quotation mark is opened and never closed"));
  EXPECT_THAT(refusal("t.csv", "a,\"b\"c\n1,0\n"), HasSubstr("line 1: a comma or the end of the line should follow"));
  EXPECT_THAT(refusal("t.csv", "a,b\n"), HasSubstr("has names only"));
  EXPECT_THAT(refusal("t.csv", "\n\n"), HasSubstr("is empty"));
  EXPECT_THAT(refusal("t.csv", ""), HasSubstr("is empty"));
  EXPECT_THAT(refusal("t.csv", "a,\xff\n1,0\n"), HasSubstr("byte 2: is not UTF-8"));
}

TEST_F(Tables, NumbersTooSmallForAFloatAreZero) {
  EXPECT_THAT(numbers_of(read("t.csv", "1,1e-99\n-1e-999,1\n")), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(numbers_of(read("t.csv", "1,0.0000000000000000000000000000000000000000000000000000000001\n")),
              ElementsAre(1, 0));
}

TEST_F(Tables, CsvOfOneColumn) { EXPECT_THAT(numbers_of(read("t.csv", "1\n0.5\n")), ElementsAre(1, 0.5)); }

// ---- .json ----

TEST_F(Tables, JsonListsOfEveryRank) {
  EXPECT_THAT(numbers_of(read("t.json", "[[0.5, 0.5], [1, 0]]")), ElementsAre(0.5F, 0.5F, 1, 0));
  EXPECT_EQ(read("t.json", "[[[1], [1]], [[1], [1]], [[1], [1]]]").tables.heads, 3);
  const TableFile four = read("t.json", "[[[[1, 0]], [[0, 1]]]]");
  EXPECT_EQ(four.tables.layers, 1);
  EXPECT_EQ(four.tables.heads, 2);
}

TEST_F(Tables, JsonAsTheProgramWritesIt) {
  const TableFile file = read("t.json", R"({"kind": "cross", "layer": 0, "head": 1, "tokens": ["x", "y"],
                                           "keys": ["a", "b", "c"], "weights": [[1, 0, 0], [0, 0, 1]]})");
  EXPECT_THAT(file.queries, ElementsAre("x", "y"));
  EXPECT_THAT(file.keys, ElementsAre("a", "b", "c"));
  EXPECT_EQ(file.tables.numbers.rows(), 2);
}

TEST_F(Tables, ErrorForBadJsonNamesItsPlace) {
  EXPECT_THAT(refusal("t.json", "[[1, 0], [1]]"), HasSubstr("weights[1] is a list of 1; a list of 2 is needed"));
  EXPECT_THAT(refusal("t.json", "[[1, 0], 3]"), HasSubstr("weights[1] is 3; a list of 2 is needed"));
  EXPECT_THAT(refusal("t.json", "[[1, 0], [1, \"x\"]]"), HasSubstr("weights[1][1] is \"x\"; a number is needed"));
  EXPECT_THAT(refusal("t.json", "[[1, 0], [1, [2]]]"), HasSubstr("weights[1][1] is a list of 1; a number is needed"));
  EXPECT_THAT(refusal("t.json", "[[1, 1e99]]"), HasSubstr("row 0, column 1 (from 0) is infinite or too large"));
  EXPECT_THAT(refusal("t.json", "[[1, NaN]]"), HasSubstr("byte 5: not JSON"));
  EXPECT_THAT(refusal("t.json", "[[1, 0]"), HasSubstr("byte 7: not JSON"));
  EXPECT_THAT(refusal("t.json", "[1, 0]"), HasSubstr("has shape [2]; [queries, keys]"));
  EXPECT_THAT(refusal("t.json", "[[[[[1]]]]]"), HasSubstr("has shape [1, 1, 1, 1, 1]"));
  EXPECT_THAT(refusal("t.json", "[]"), HasSubstr("has shape [0]"));
  EXPECT_THAT(refusal("t.json", "[[]]"), HasSubstr("has shape [1, 0]: it is empty"));
  EXPECT_THAT(refusal("t.json", "7"), HasSubstr("weights are 7"));
  EXPECT_THAT(refusal("t.json", "{}"), HasSubstr("has no \"weights\""));
  EXPECT_THAT(refusal("t.json", R"({"weights": [[1, 0]], "tokens": "a"})"), HasSubstr("tokens is \"a\""));
  EXPECT_THAT(refusal("t.json", R"({"weights": [[1, 0]], "keys": ["a", 2]})"), HasSubstr("keys[1] is 2"));
  EXPECT_THAT(refusal("t.json", R"({"weights": [[1, 0]], "keys": ["a"]})"),
              HasSubstr("names 1 columns (keys), but has 2"));
}

TEST_F(Tables, RejectsDeeplyNestedJson) {
  EXPECT_THAT(refusal("t.json", std::string(200000, '[')), HasSubstr("nested more than 64 levels deep"));
  EXPECT_THAT(refusal("t.json", std::string(100000, '[') + std::string(100000, ']')), HasSubstr("levels deep"));
  EXPECT_THAT(refusal("t.json", "[[1, 1e99999]]"), HasSubstr("a number that is out of range: '1e99999'"));
}

// ---- .npy ----

std::string npy(const std::string& dictionary, const std::string& data, int version = 1) {
  const std::size_t length = dictionary.size();
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) out += static_cast<char>(length >> (8 * i) & 0xFF);
  return out + dictionary + data;
}
std::string floats(const std::vector<float>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float)};
}
const std::string kTwoByTwo = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }";

TEST_F(Tables, NpyOfEveryVersionAndOrder) {
  for (const int version : {1, 2, 3})
    EXPECT_THAT(numbers_of(read("t.npy", npy(kTwoByTwo + "   \n", floats({1, 2, 3, 4}), version))),
                ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(numbers_of(read("t.npy", npy("{\"shape\":(2,3),\"fortran_order\":True,\"descr\":\"<f4\"}",
                                           floats({1, 2, 3, 4, 5, 6})))),
              ElementsAre(1, 3, 5, 2, 4, 6));
}

TEST_F(Tables, ErrorForBadNpyNamesItsByte) {
  const std::string good = npy(kTwoByTwo, floats({1, 2, 3, 4}));
  EXPECT_THAT(refusal("t.npy", "PK hello"), HasSubstr("is not a .npy file"));
  EXPECT_THAT(refusal("t.npy", good.substr(0, 7)), HasSubstr("is not a .npy file"));
  EXPECT_THAT(refusal("t.npy", npy(kTwoByTwo, "", 4)), HasSubstr(".npy version 4 is not supported"));
  EXPECT_THAT(refusal("t.npy", good.substr(0, 20)), HasSubstr("the header has 59 bytes, but only 10 follow"));
  EXPECT_THAT(refusal("t.npy", good.substr(0, good.size() - 1)),
              HasSubstr("its header says [2, 2] of '<f4', 16 bytes; 15 follow"));
  EXPECT_THAT(refusal("t.npy", good + "x"), HasSubstr("16 bytes; 17 follow"));
  EXPECT_THAT(refusal("t.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999)}", "")),
              HasSubstr("more than can be counted; 0 follow"));
  EXPECT_THAT(refusal("t.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, -2)}", "")),
              HasSubstr("a size is needed here"));
  EXPECT_THAT(refusal("t.npy", npy("{'descr': '<f4', 'fortran_order': False}", "")), HasSubstr("needs descr, fortran"));
  EXPECT_THAT(refusal("t.npy", npy("{'descr': '<f4', 'fortran_order': 0, 'shape': ()}", "")),
              HasSubstr("True or False"));
  EXPECT_THAT(refusal("t.npy", npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}", "")),
              HasSubstr("byte 20: a quoted string is needed here"));
  EXPECT_THAT(refusal("t.npy", npy("{'descr': '<f4', 'order': 1}", "")), HasSubstr("a key 'order'"));
  EXPECT_THAT(refusal("t.npy", npy(kTwoByTwo + "x", "")), HasSubstr("continues after its '}'"));
  EXPECT_THAT(refusal("t.npy", npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1, 1)}", "1234")),
              HasSubstr("elements of type '>f4'"));
  EXPECT_THAT(refusal("t.npy", npy("{'descr': '<c8', 'fortran_order': False, 'shape': (1, 1)}", "12345678")),
              HasSubstr("elements of type '<c8'"));
  EXPECT_THAT(refusal("t.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "1234")),
              HasSubstr("has shape [1]; [queries, keys]"));
  EXPECT_THAT(refusal("t.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4)}", "")),
              HasSubstr("has shape [0, 4]: it is empty"));
}

TEST_F(Tables, ErrorForNpyThatIsNotFiniteNamesItsPlace) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(
      refusal("t.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 1, 2)}", floats({1, 0, 1, nan}))),
      HasSubstr("layer 0, head 1, row 0, column 1 (from 0) is not a number (NaN)"));
}

TEST_F(Tables, NpyWithAnyByteOfItsHeaderChangedIsAnErrorOrATable) {
  const std::string good = npy(kTwoByTwo, floats({1, 2, 3, 4}));
  for (std::size_t at = 0; at < 70; ++at) {
    for (int value = 0; value < 256; value += 3) {
      std::string bad = good;
      bad[at] = static_cast<char>(value);
      try {
        EXPECT_GE(read("t.npy", bad).tables.numbers.rows(), 1);
      } catch (const Error& error) {
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      }
    }
  }
}

TEST_F(Tables, RejectsOtherExtensions) {
  EXPECT_THAT(refusal("t.txt", "1,0"), HasSubstr("is not a table; the name must end in .npy, .csv or .json"));
  EXPECT_THAT(error_of([&] { read_table(folder_ / "none.csv"); }).what(), HasSubstr("cannot be opened"));
  EXPECT_THAT(error_of([&] { read_table("/dev/null.csv"); }).what(), HasSubstr("cannot be opened"));
}

}  // namespace
}  // namespace attn::insight
