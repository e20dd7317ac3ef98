// text/datasets/examples.h - loads texts with their labels or translations into memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "text/datasets/data_set.h"

namespace attn::text {

// Reads a file, as DataSet does, or a folder: each .txt or .md file below it is a text, in the order of paths. If
// labels are requested, the name of a file's folder is its label, as in the published IMDb reviews; files next to such
// folders and files in "unsup" have none and are skipped. A folder cannot hold translations.
//
// Texts of only white space are skipped, or refused if a label or translation is requested. Throws attn::Error: no text
// at all, a missing text or label (with the line), not UTF-8 (with the line or byte), no such column.
std::vector<Example> read_examples(const std::filesystem::path& path, Wanted wanted,
                                   const ExampleColumns& columns = {});

// Whether a text is held out for testing. Depends on the text alone, so the same texts are held out whatever the order
// or task. Throws std::invalid_argument unless 0 <= share <= 1; the resolution is a thousandth.
bool held_out(std::string_view text, double share);

// A hash of the examples and their order, to tell whether they have changed.
std::uint64_t fingerprint(std::span<const Example> examples) noexcept;

}  // namespace attn::text
