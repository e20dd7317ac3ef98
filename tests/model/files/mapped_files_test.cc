#include "model/files/mapped_files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "model/files/safetensors.h"
#include "tests/support/sanitizers.h"
#include "tests/support/temporary_folder.h"

namespace attn::model {
namespace {

constexpr std::int64_t kFloats = 100'000;

std::filesystem::path weights_in(const test::TemporaryFolder& folder) {
  const std::vector<float> numbers(kFloats, 1);
  std::filesystem::path file = folder / "model.safetensors";
  write_safetensors(file, {{"a", Dtype::f32, {kFloats}, numbers.data()}}, {});
  return file;
}

// Reads the last byte of a tensor whose file has been cut to its first page.
void read_what_is_gone(const std::filesystem::path& file) {
  const SafeTensors weights = SafeTensors::open(file);
  if (::truncate(file.c_str(), 4096) != 0) std::exit(3);
  const StoredTensor& tensor = weights.tensors().at("a");
  const volatile std::byte* const last = tensor.data + tensor.bytes - 1;
  std::exit(*last == std::byte{0} ? 4 : 5);
}

TEST(MappedFilesDeathTest, ProgramSaysWhichFileBecameShorter) {
  if (test::kSanitized) GTEST_SKIP() << "a sanitizer handles the signal";
  const test::TemporaryFolder folder;
  const std::filesystem::path file = weights_in(folder);
  EXPECT_EXIT(
      {
        explain_truncated_files();
        read_what_is_gone(file);
      },
      ::testing::ExitedWithCode(1), "^attnscope: .*model\\.safetensors: became shorter.*\n$");
}

TEST(MappedFilesDeathTest, OtherBusErrorsKeepTheirSignal) {
  if (test::kSanitized) GTEST_SKIP() << "a sanitizer handles the signal";
  EXPECT_EXIT(
      {
        explain_truncated_files();
        ::raise(SIGBUS);
        ::raise(SIGBUS);
      },
      ::testing::KilledBySignal(SIGBUS), "");
}

TEST(MappedFilesDeathTest, LibraryLeavesTheSignalAlone) {
  if (test::kSanitized) GTEST_SKIP() << "a sanitizer handles the signal";
  const test::TemporaryFolder folder;
  const std::filesystem::path file = weights_in(folder);
  EXPECT_EXIT(read_what_is_gone(file), ::testing::KilledBySignal(SIGBUS), "");
}

TEST(MappedFiles, MoreFilesThanTheListHolds) {
  const test::TemporaryFolder folder;
  const std::filesystem::path file = weights_in(folder);
  std::vector<SafeTensors> all;
  for (int n = 0; n < 600; ++n) all.push_back(SafeTensors::open(file));
  EXPECT_EQ(all.back().tensors().at("a").bytes, kFloats * 4);
}

}  // namespace
}  // namespace attn::model
