// tests/fuzz/fuzz.h - the fuzz targets: everything that reads foreign bytes, one function each.
//
// A target returns normally for every input. An error that the library documents is part of its contract; any other
// exception, a broken law (require) or a sanitizer's report is a finding. `make fuzz` runs each target under libFuzzer;
// seeds_test.cc runs each over its seeds in the ordinary tests. How to add one: docs/testing.md.
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "attn/error.h"

namespace attn::fuzz {

struct Target {
  const char* name;  // also the folder of its seeds
  void (*run)(std::string_view input);
};

std::span<const Target> targets();
// Null if there is no target of this name.
const Target* find_target(std::string_view name);

// ---- for targets ----

// Calls f; an error that the library documents for bad input ends it quietly.
template <typename F>
void documented(F&& f) {
  try {
    f();
    // NOLINTBEGIN(bugprone-empty-catch): these are the documented ones
  } catch (const Error&) {                  // a file
  } catch (const std::invalid_argument&) {  // an argument
  }
  // NOLINTEND(bugprone-empty-catch)
}

// Ends the process with a message unless `holds`.
void require(bool holds, const char* law);

// Cuts the input at lines of "====", so that one input can hold several files.
std::vector<std::string> parts_of(std::string_view input);

// Removes the first line, without its line feed, and returns it.
std::string take_line(std::string& text);

// A file that holds `bytes`, until the next call with this name.
std::string file_with(const std::string& name, const std::string& bytes);

}  // namespace attn::fuzz
