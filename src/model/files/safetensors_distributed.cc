#include "model/files/safetensors_distributed.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

#include "attn/error.h"
#include "attn/ring.h"
#include "base/new_file.h"
#include "base/read_file.h"
#include "model/files/safetensors_header.h"

namespace attn::model {

namespace {

constexpr std::int64_t kFloat = sizeof(float);

// A file that another rank has created; this rank writes at given offsets.
class SharedFile {
 public:
  explicit SharedFile(std::string path) : path_(std::move(path)) {
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail("cannot be opened: the file must be in a folder that every process can access");
  }
  ~SharedFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;

  void write(const void* data, std::int64_t bytes, std::int64_t offset) const {
    const char* next = static_cast<const char*>(data);
    while (bytes > 0) {
      const std::int64_t most = std::min(bytes, std::int64_t{1} << 30);
      const ssize_t n = ::pwrite(descriptor_, next, static_cast<std::size_t>(most), offset);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) fail("cannot be written");
      next += n;
      bytes -= n;
      offset += n;
    }
  }
  void close() {
    if (::fsync(descriptor_) != 0) fail("cannot be written");
    if (::close(std::exchange(descriptor_, -1)) != 0) fail("cannot be written");
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error(path_, what + ": " + base::system_words(errno)); }

  std::string path_;
  int descriptor_ = -1;
};

// Writes this rank's part of a tensor that begins at `offset`.
void write_part(const SharedFile& file, const PartToStore& part, std::int64_t offset, const Ranks& ranks) {
  const std::int64_t rows = part.whole.shape[0], columns = part.whole.shape[1];
  const auto* next = static_cast<const float*>(part.whole.data);
  const auto write = [&](std::int64_t first, std::int64_t count) {
    file.write(next, count * kFloat, offset + first * kFloat);
    next += count;
  };
  if (part.split == PartToStore::Split::none) {
    if (ranks.rank() == 0) write(0, rows * columns);
    return;
  }
  if (part.split == PartToStore::Split::rows) {
    for (const Stretch& stretch : RingSplit(rows, ranks.size()).of(ranks.rank()))
      write(stretch.begin * columns, stretch.size() * columns);
    return;
  }
  const std::array<Stretch, 2> mine = RingSplit(columns, ranks.size()).of(ranks.rank());
  for (std::int64_t row = 0; row < rows; ++row)
    for (const Stretch& stretch : mine) write(row * columns + stretch.begin, stretch.size());
}

std::vector<TensorToStore> wholes_of(const std::vector<PartToStore>& parts) {
  std::vector<TensorToStore> wholes;
  for (const PartToStore& part : parts) wholes.push_back(part.whole);
  return wholes;
}

std::int64_t part_bytes(const PartToStore& part) { return part.whole.shape[0] * part.whole.shape[1] * kFloat; }

// The new file while ranks write it. If one of them fails, it is removed before any of them reports the failure.
class Common {
 public:
  explicit Common(Ranks& ranks) : ranks_(ranks) {}

  template <typename F>
  void step(const F& work) {
    std::optional<Failure> mine;
    std::exception_ptr thrown;
    try {
      work();
    } catch (const std::exception& problem) {
      mine = Failure{problem.what(), 1, ranks_.rank()};
      thrown = std::current_exception();
    } catch (...) {  // `between` may throw any type
      mine = Failure{"given up", 1, ranks_.rank()};
      thrown = std::current_exception();
    }
    const std::optional<Failure> first = first_failure(ranks_, mine);
    if (!first) return;
    file.reset();
    barrier(ranks_);
    if (thrown) std::rethrow_exception(thrown);
    throw std::runtime_error(in_words(*first));
  }

  std::optional<base::NewFile> file;  // on rank 0

 private:
  Ranks& ranks_;
};

}  // namespace

void write_safetensors(Ranks& ranks, const std::filesystem::path& file, const std::vector<PartToStore>& parts,
                       const std::map<std::string, std::string, std::less<>>& metadata,
                       const std::function<void()>& between) {
  if (ranks.size() == 1) return write_safetensors(file, wholes_of(parts), metadata, between);
  Common common(ranks);
  std::string place;  // from rank 0: where data begins, and the name
  common.step([&] {
    if (ranks.rank() != 0) return;
    const std::string header = safetensors_header(wholes_of(parts), metadata);
    common.file.emplace(file);
    if (common.file->beside().empty())
      throw Error(file.string(), "is not a regular file; several processes cannot write it together");
    auto bytes = static_cast<std::int64_t>(header.size());
    for (const PartToStore& part : parts) bytes += part_bytes(part);
    common.file->reserve(bytes);
    common.file->write(header.data(), header.size());
    place = std::to_string(header.size()) + " " + std::filesystem::absolute(common.file->beside()).string();
  });
  place = ranks.gather(place).front();
  common.step([&] {
    SharedFile shared(place.substr(place.find(' ') + 1));
    std::int64_t offset = std::stoll(place);
    for (const PartToStore& part : parts) {
      if (between) between();
      write_part(shared, part, offset, ranks);
      offset += part_bytes(part);
    }
    shared.close();
  });
  common.step([&] {
    if (ranks.rank() == 0) common.file->commit();
  });
}

}  // namespace attn::model
