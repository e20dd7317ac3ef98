#include "apps/cli/options/ranks.h"

#include <dlfcn.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <thread>
#include <vector>

namespace attn::cli {

namespace {

std::optional<int> number_in(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  int number = 0;
  const char* const end = text + std::strlen(text);
  const auto [last, problem] = std::from_chars(text, end, number);
  if (problem != std::errc() || last != end || number < 0) return std::nullopt;
  return number;
}

// Environment variables that a launcher sets for each process.
struct Launcher {
  const char *rank, *size, *beside, *module;
};
constexpr std::array<Launcher, 3> kLaunchers = {{
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "openmpi"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS", "mpich"},
    {"PMIX_RANK", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", ""},
}};

constexpr std::array<const char*, 3> kModules = {"openmpi", "mpich", "mpi"};

std::filesystem::path module_file(const std::string& name) {
  std::error_code ignored;
  const std::filesystem::path here = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  const std::string file = "attnscope_" + name + ".so";
  std::vector<std::filesystem::path> places = {here};
  for (const auto& entry : {"lib", "lib64"}) places.push_back(here.parent_path() / entry / "attnscope");
  for (const auto& folder : std::filesystem::directory_iterator(here.parent_path() / "lib", ignored)) {
    places.push_back(folder.path() / "attnscope");  // lib/x86_64-linux-gnu
  }
  for (const auto& place : places) {
    if (std::filesystem::exists(place / file, ignored)) return place / file;
  }
  return {};
}

}  // namespace

Launched Launched::by_environment() {
  Launched found;
  for (const Launcher& launcher : kLaunchers) {
    const std::optional<int> rank = number_in(launcher.rank), size = number_in(launcher.size);
    if (!rank || !size || *size < 1 || *rank >= *size) continue;
    found = {*rank, *size, number_in(launcher.beside).value_or(1), launcher.module};
    break;
  }
  if (const char* asked = std::getenv("ATTNSCOPE_MPI")) found.module = asked;
  return found;
}

int fair_threads() {
  const int threads = ThreadPool::default_threads();
  const bool bound = threads < static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return bound ? threads : std::max(1, threads / std::max(1, Launched::by_environment().beside));
}

void refuse_several(CLI::App& app) {
  if (!Launched::by_environment().several()) return;
  constexpr std::array<std::string_view, 3> kSharing = {"record", "analyze", "train"};
  for (CLI::App* command : app.get_subcommands({})) {
    const std::string name = command->get_name();
    if (std::ranges::find(kSharing, name) != kSharing.end()) continue;
    command->preparse_callback([name](std::size_t) {
      throw UsageError(name + " runs in a single process; only record, analyze and train can use several");
    });
  }
}

Shell::Shell() = default;
Shell::~Shell() = default;

Ranks& Shell::ranks() {
  if (!world_) world_ = std::make_unique<World>(Launched::by_environment());
  return world_->ranks();
}

int say_failure(const std::string& what, int code) {
  std::fprintf(stderr, "attnscope: %s\n", what.c_str());
  return code;
}

std::string words_of(const std::exception& problem) {
  return dynamic_cast<const std::bad_alloc*>(&problem) != nullptr ? "not enough memory" : problem.what();
}

int Shell::fail(const std::string& what, int code) {
  const Launched launched = Launched::by_environment();
  if (!launched.several()) return say_failure(what, code);
  const Failure mine{what, code, launched.rank};
  if (!world_) {  // a usage error, most likely on all ranks; those without one wait where commands begin
    try {
      const Failure first = first_failure(ranks(), mine).value_or(mine);
      return launched.rank == 0 ? say_failure(in_words(first), first.code) : first.code;
    } catch (const std::exception&) {  // no way to reach the other ranks
      return launched.rank == 0 ? say_failure(what, code) : code;
    }
  }
  // The others may have failed in the same way, or may wait for this rank forever: rank 0 gets a second to print first,
  // and the first rank that prints ends them all.
  if (launched.rank > 0) std::this_thread::sleep_for(std::chrono::seconds(1));
  say_failure(in_words(mine), code);
  ranks().abandon(code);
  return code;  // never reached; g++ 12 does not accept [[noreturn]] of a virtual function
}

int Shell::guard(const std::function<int()>& program) {
  const int code = guarded(program);
  if (world_) world_->will_end_with(code);
  return code;
}

int Shell::guarded(const std::function<int()>& program) {
  try {
    return program();
  } catch (const FailedTogether& problem) {
    return ranks().rank() == 0 ? say_failure(problem.what(), problem.code) : problem.code;
  } catch (const UsageError& problem) {
    return fail(problem.what(), 2);
  } catch (const Interrupted& stop) {
    if (!stop.words.empty()) std::fprintf(stderr, "%s\n", stop.words.c_str());
    if (Launched::by_environment().several() && world_) ranks().abandon(130);
    end_interrupted();
  } catch (const std::exception& problem) {
    return fail(words_of(problem), 1);
  }
}

struct World::Module {
  void* library = nullptr;
  Ranks* (*start)() = nullptr;
  void (*end)(Ranks*, int) = nullptr;
};

World::World(const Launched& launched) {
  if (!launched.several()) {
    own_ = alone();
    ranks_ = own_.get();
    return;
  }
  // Open MPI gives each rank a pseudo-terminal, even if its output ends in a file.
  setenv("NO_COLOR", "1", 0);
  std::filesystem::path file;
  for (const char* name : kModules) {
    if (file.empty() && (launched.module.empty() || launched.module == name)) file = module_file(name);
  }
  if (file.empty()) {
    throw std::runtime_error(
        std::to_string(launched.size) + " processes were started together, but this program was " + "built without " +
        (launched.module.empty() ? "MPI" : launched.module) +
        "; install libopenmpi-dev or libmpich-dev, rebuild, and start it with the mpirun of that library");
  }
  module_ = std::make_unique<Module>();
  // Open MPI's plugins expect its symbols to be global.
  module_->library = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (module_->library != nullptr) {
    module_->start = reinterpret_cast<Ranks* (*)()>(dlsym(module_->library, "attnscope_start_ranks"));
    module_->end = reinterpret_cast<void (*)(Ranks*, int)>(dlsym(module_->library, "attnscope_end_ranks"));
  }
  if (module_->start == nullptr || module_->end == nullptr) {
    const char* const why = dlerror();
    throw std::runtime_error(file.string() +
                             " cannot be loaded: " + (why == nullptr ? "not a module of attnscope" : why));
  }
  ranks_ = module_->start();
}

World::~World() {
  if (module_ && ranks_ != nullptr) module_->end(ranks_, code_);  // never unloaded: MPI may have running threads
}

}  // namespace attn::cli
