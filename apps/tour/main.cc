// tour/main.cc - the program attnscope: a short tour of the engine.
#include <charconv>
#include <exception>
#include <iostream>
#include <optional>
#include <string_view>

#include "tour.h"

namespace {

constexpr std::string_view kHelp =
    "attnscope - fast exact attention, and a microscope to see it\n"
    "\n"
    "usage: attnscope [--threads N]\n"
    "\n"
    "Shows in the terminal what the engine does: a small attention and its weights, a mask and\n"
    "the tiles it is compiled into, and how fast that is here. Takes about two seconds.\n"
    "\n"
    "  --threads N   work on N threads, 1 to 1024 (default: ATTNSCOPE_THREADS, else the cores\n"
    "                that this process may use)\n"
    "  --version     print the version\n"
    "  --help        print this text\n"
    "\n"
    "Colours: 24-bit where COLORTERM says so, none in a pipe or with NO_COLOR set.\n";

std::optional<int> parse_threads(std::string_view text) {
  int threads = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
  if (error != std::errc{} || end != text.data() + text.size() || threads < 1 || threads > 1024) return std::nullopt;
  return threads;
}

int wrong_usage(std::string_view what, std::string_view argument) {
  std::cerr << "attnscope: " << what << " '" << argument << "'; see attnscope --help\n";
  return 2;
}

int run_tour(int threads) {
  attn::ThreadPool pool(threads);
  const auto terminal = attn::tour::Terminal::of_stdout();
  std::cout << "\n  " << terminal.bold("attnscope " ATTNSCOPE_VERSION) << "   attention, exact and never stored\n";
  attn::tour::by_hand(std::cout, terminal, pool);
  attn::tour::sentence(std::cout, terminal, pool);
  attn::tour::masks(std::cout, terminal);
  std::cout.flush();
  attn::tour::speed(std::cout, terminal, pool);
  std::cout << "\n" << std::flush;
  return std::cout ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  int threads = 0;
  for (int n = 1; n < argc; ++n) {
    std::string_view argument = argv[n];
    if (argument == "--help" || argument == "-h") {
      std::cout << kHelp;
      return 0;
    }
    if (argument == "--version") {
      std::cout << "attnscope " ATTNSCOPE_VERSION "\n";
      return 0;
    }
    if (argument == "--threads" && n + 1 == argc) return wrong_usage("a number is missing after", argument);
    const bool joined = argument.starts_with("--threads=");
    if (argument != "--threads" && !joined) return wrong_usage("unknown argument", argument);
    argument = joined ? argument.substr(argument.find('=') + 1) : std::string_view(argv[++n]);
    const std::optional<int> parsed = parse_threads(argument);
    if (!parsed) return wrong_usage("--threads takes a whole number from 1 to 1024, not", argument);
    threads = *parsed;
  }
  return run_tour(threads);
} catch (const std::exception& error) {
  std::cerr << "attnscope: " << error.what() << "\n";
  return 1;
}
