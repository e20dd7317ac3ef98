// server/routes/api_parts.h - answers about specimens as a whole. Those about parts of them are in looking.h.
#pragma once

#include "server/http/request.h"
#include "server/http/response.h"
#include "server/store/recording_store.h"

namespace attn::server {

// Each is a row of the table in api.cc. They throw std::invalid_argument (status 400), Refused and NotWanted.
Answer list(Desk& desk, const Question& asked);
Answer facts_of(Desk& desk, const Question& asked);
Answer thumbnails(Desk& desk, const Question& asked);

// ---- by models ----
Answer models(Desk& desk, const Question& asked);
Answer make_specimen(Desk& desk, const Question& asked);
Answer predictions(Desk& desk, const Question& asked);
Answer effects(Desk& desk, const Question& asked);

}  // namespace attn::server
