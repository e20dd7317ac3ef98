// server/facts.h - what the page is told of a specimen before it asks for anything else. For .cc files only.
#pragma once

#include "insight/json.h"
#include "server/exhibit.h"

namespace attn::server {

// Tokens, stacks, every head's numbers without those by token, the order in which to look at them (docs/page.md).
insight::Json facts(const Exhibit& exhibit, const Exposure& exposure, const Survey& survey);

}  // namespace attn::server
