// server/routes/facts.h - what the page is told of a specimen before it asks for anything else. For .cc files only.
#pragma once

#include <cstdint>
#include <string>

#include "model/run/model.h"
#include "server/routes/record_request_json.h"
#include "server/store/stored_recording.h"

namespace attn::server {

inline constexpr std::int64_t kMostRollout = 512;  // tokens: rollout multiplies whole tables

// What a model is and can do.
Json model_facts(const std::string& name, const model::Facts& facts);

// Tokens, stacks, every head's numbers without those by token, the order in which to look at them (docs/page.md).
Json facts(const StoredRecording& stored, const StoredTables& stored_tables, const HeadSummary& summary);

}  // namespace attn::server
