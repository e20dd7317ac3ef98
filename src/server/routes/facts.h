// server/routes/facts.h - the facts of a recording, the page's first request. Include it from .cc files only.
#pragma once

#include <cstdint>
#include <string>

#include "model/run/model.h"
#include "server/routes/record_request_json.h"
#include "server/store/stored_recording.h"

namespace attn::server {

inline constexpr std::int64_t kMostRollout = 512;  // tokens: rollout multiplies whole tables

// A model's architecture, and what it can do.
Json model_facts(const std::string& name, const model::Facts& facts);

// Tokens, stacks, the statistics of every head without numbers per token, and the ranking of heads (docs/page.md).
Json facts(const StoredRecording& stored, const StoredTables& stored_tables, const HeadSummary& summary);

}  // namespace attn::server
