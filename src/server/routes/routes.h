// server/routes/routes.h - answers about parts of specimens, files of them, and what two of them have different.
#pragma once

#include "server/http/request.h"
#include "server/http/response.h"
#include "server/store/recording_store.h"

namespace attn::server {

// Each is a row of the table in api.cc. They throw std::invalid_argument (status 400), Refused and NotWanted.

// ---- parts ----
Answer tile(Desk& desk, const Question& asked);
Answer row(Desk& desk, const Question& asked);
Answer column(Desk& desk, const Question& asked);
Answer profile(Desk& desk, const Question& asked);
Answer trace(Desk& desk, const Question& asked);
Answer find(Desk& desk, const Question& asked);
Answer patterns(Desk& desk, const Question& asked);

// ---- files ----
Answer figure(Desk& desk, const Question& asked);
Answer table(Desk& desk, const Question& asked);
Answer page(Desk& desk, const Question& asked);
Answer recording(Desk& desk, const Question& asked);

// ---- two specimens ----
Answer compare(Desk& desk, const Question& asked);
Answer compare_tile(Desk& desk, const Question& asked);
Answer compare_row(Desk& desk, const Question& asked);
Answer compare_column(Desk& desk, const Question& asked);
Answer compare_thumbnails(Desk& desk, const Question& asked);
Answer compare_figure(Desk& desk, const Question& asked);

// ---- none ----
Answer mask(Desk& desk, const Question& asked);

}  // namespace attn::server
