// base/counted.h - counts of things as text.
#pragma once

#include <string>
#include <string_view>

namespace attn::base {

std::string grouped(long long value);                         // 1234567 as "1,234,567"
std::string counted(long long count, std::string_view noun);  // "1 head", "1,200 heads"

}  // namespace attn::base
