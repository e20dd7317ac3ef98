// bench/engine/models.cc - whole models, called from Python with negligible overhead.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "attn/thread_pool.h"
#include "bench/engine/probe.h"
#include "insight/statistics/statistics.h"
#include "insight/tables/attention_tables.h"
#include "model/run/generate.h"
#include "model/run/model.h"

namespace {

struct Opened {
  attn::ThreadPool pool;
  std::unique_ptr<attn::model::Model> model;

  Opened(const char* folder, int threads) : pool(threads), model(attn::model::load_model(folder)) {}
};

thread_local std::string problem;

// The result of f, or `otherwise` with the reason in `problem`.
template <typename R, typename F>
R guarded(R otherwise, F&& f) noexcept {
  try {
    return f();
  } catch (const std::exception& error) {
    problem = error.what();
    return otherwise;
  }
}

}  // namespace

extern "C" {

const char* bench_model_problem() noexcept { return problem.c_str(); }

void* bench_model_open(const char* folder, int threads) noexcept {
  return guarded<void*>(nullptr, [&] { return new Opened(folder, threads); });
}

void bench_model_close(void* opened) noexcept { delete static_cast<Opened*>(opened); }

// Writes hidden states [n, width] to out, and records every attention if requested. Returns 0, or -1 on error.
int bench_model_read(void* opened, const std::int32_t* ids, std::int64_t n, int record, float* out) noexcept {
  return guarded(-1, [&] {
    auto& it = *static_cast<Opened*>(opened);
    attn::model::AttentionLog log;
    const attn::model::Batch batch(std::vector<std::int32_t>(ids, ids + n));
    const attn::nn::Matrix hidden = it.model->read(batch, {.pool = it.pool, .log = record != 0 ? &log : nullptr});
    std::memcpy(out, hidden.data(), static_cast<std::size_t>(hidden.rows() * hidden.columns()) * sizeof(float));
    return 0;
  });
}

// Generates up to `tokens` ids greedily into out. Returns their number, or -1 on error.
std::int64_t bench_model_generate(void* opened, const std::int32_t* ids, std::int64_t n, std::int64_t tokens,
                                  std::int32_t* out) noexcept {
  return guarded<std::int64_t>(-1, [&] {
    auto& it = *static_cast<Opened*>(opened);
    const std::vector<std::int32_t> fresh = attn::model::generate(
        *it.model, {ids, static_cast<std::size_t>(n)}, {.tokens = tokens, .sampling = {}}, {.pool = it.pool});
    std::memcpy(out, fresh.data(), fresh.size() * sizeof(std::int32_t));
    return static_cast<std::int64_t>(fresh.size());
  });
}

void* bench_model_record(void* opened, const std::int32_t* ids, std::int64_t n) noexcept {
  return guarded<void*>(nullptr, [&] {
    auto& it = *static_cast<Opened*>(opened);
    attn::model::Recording recording;
    recording.tokens.resize(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
      attn::text::Token& token = recording.tokens[static_cast<std::size_t>(i)];
      token.id = ids[i];
      token.piece = token.text = std::to_string(ids[i]);
    }
    static_cast<void>(it.model->read(attn::model::Batch(std::vector<std::int32_t>(ids, ids + n)),
                                     {.pool = it.pool, .log = &recording.log}));
    return new attn::insight::RecordedTables(std::move(recording));
  });
}

void bench_tables_close(void* tables) noexcept { delete static_cast<attn::insight::RecordedTables*>(tables); }

// Writes entropy and distance of all heads to out, computed on the model's threads. Returns 0, or -1 on error.
int bench_tables_statistics(void* tables, void* opened, double* out) noexcept {
  return guarded(-1, [&] {
    const auto& it = *static_cast<attn::insight::RecordedTables*>(tables);
    for (const attn::insight::HeadStatistics& head :
         attn::insight::statistics(it, {}, static_cast<Opened*>(opened)->pool)) {
      *out++ = head.entropy;
      *out++ = head.distance;
    }
    return 0;
  });
}

// The size in bytes of everything from which weights are rebuilt.
std::int64_t bench_tables_kept(void* tables) noexcept {
  std::int64_t floats = 0;
  for (const auto& a : static_cast<attn::insight::RecordedTables*>(tables)->recording()->log.attentions()) {
    for (const attn::nn::Matrix* matrix : {&a.q, &a.k, &a.lse}) floats += matrix->rows() * matrix->columns();
  }
  return floats * std::int64_t{sizeof(float)};
}

// Reads this many bytes once, on the model's threads, in pieces of the size that products use.
void bench_model_plain_read(void* opened, const std::byte* data, std::size_t bytes) noexcept {
  constexpr std::size_t kPiece = std::size_t{256} << 10;
  const auto count = static_cast<std::int64_t>((bytes + kPiece - 1) / kPiece);
  static_cast<Opened*>(opened)->pool.run(count, [&](std::int64_t t, int) {
    const std::size_t first = static_cast<std::size_t>(t) * kPiece;
    bench_plain_read(data + first, std::min(kPiece, bytes - first));
  });
}

}  // extern "C"
