// text/datasets/examples.h - texts with what belongs to them, in memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "text/datasets/data_set.h"

namespace attn::text {

// A file, as DataSet reads it, or a folder: each .txt or .md file below it is a text, in the order of their paths.
// Where labels are wanted, the name of the folder that a file lies in is its label, as in the published IMDb reviews;
// files beside such folders and files in "unsup" have none and are left out. A folder has no translations.
//
// Texts of nothing but white space are left out, or, where more than the text is wanted, refused. Throws attn::Error:
// no text at all, a text or label missing (with the line), not UTF-8 (with the line or byte), no such column.
std::vector<Example> read_examples(const std::filesystem::path& path, Wanted wanted,
                                   const ExampleColumns& columns = {});

// Whether a text is kept apart for testing. Decided by the text alone, so that the same ones are kept apart whatever
// the order and whatever is learned. Throws std::invalid_argument unless 0 <= share <= 1; it counts in thousandths.
bool held_out(std::string_view text, double share);

// Tells whether the examples, and their order, are still the same.
std::uint64_t fingerprint(std::span<const Example> examples) noexcept;

}  // namespace attn::text
