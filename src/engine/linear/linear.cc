// engine/linear/linear.cc - schedules linear attention: which task sums which keys, and which task computes which
// queries.
//
// With many key heads, each is one task. With few, keys are cut into parts whose number depends on the shape alone. The
// sums of the parts are added in order, so the bits do not depend on the number of threads.
#include "attn/linear.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "engine/attention/problem.h"
#include "engine/kernels/common/denormals.h"
#include "engine/kernels/linear/linear.h"
#include "engine/runtime/number_text.h"
#include "engine/runtime/scratch.h"

namespace attn {
namespace {

static_assert(static_cast<int>(Feature::elu_plus_one) == static_cast<int>(kernels::Phi::elu_plus_one));
static_assert(static_cast<int>(Feature::relu) == static_cast<int>(kernels::Phi::relu));
static_assert(static_cast<int>(Feature::identity) == static_cast<int>(kernels::Phi::identity));

constexpr std::int64_t kEnoughTasks = 8;   // with so many key heads, keys are not cut
constexpr std::int64_t kLeastPart = 512;   // least keys per part
constexpr std::int64_t kMappedRows = 256;  // rows that go through the caller's map at a time
constexpr std::int64_t kQueryRows = 252;   // queries per task, a multiple of kTileRows
static_assert(kMappedRows % kernels::kLinearChunk == 0 && kQueryRows % kTileRows == 0);

[[noreturn]] void fail_linear(const std::string& what) { throw std::invalid_argument("linear_attention: " + what); }

void check_state(const LinearState& state, const Sizes& n, std::int64_t features) {
  if (state.s.empty() && state.z.empty()) return;
  if (state.s.empty() || state.z.empty()) fail_linear("the state needs both s and z, or neither");
  check_shape("state.s", state.s.shape, {n.batch, n.key_heads, features, n.value_width});
  check_shape("state.z", state.z.shape, {n.batch, n.key_heads, features});
  check_dense_last("state.s", state.s.strides[3], n.value_width);
  check_dense_last("state.z", state.z.strides[2], features);
}

Sizes check_linear(const Inputs& in, const LinearOptions& options, const View<float, 4>& out) {
  const Sizes n = check_inputs(in);
  if (options.causal && n.queries != n.keys) {
    fail_linear("causal needs as many queries as keys, but N = " + std::to_string(n.queries) +
                " and M = " + std::to_string(n.keys));
  }
  if (!(options.epsilon >= 0) || std::isinf(options.epsilon)) {
    fail_linear("epsilon is " + number_text(options.epsilon) + " but must be a finite number, at least 0");
  }
  if (options.map != nullptr && !options.map->map) fail_linear("the feature map holds no function");
  if (options.map != nullptr && options.map->width < 1) {
    fail_linear("the feature map has width " + std::to_string(options.map->width) + " but must have at least 1");
  }
  check_state(options.state, n, options.map != nullptr ? options.map->width : n.width);
  check_shape("out", out.shape, {n.batch, n.heads, n.queries, n.value_width});
  check_dense_last("out", out.strides[3], n.value_width);
  return n;
}

float number(const void* row, Type type, std::int64_t d) {
  switch (type) {
    case Type::float16:
      return to_float(static_cast<const Half*>(row)[d]);
    case Type::bfloat16:
      return to_float(static_cast<const Bfloat*>(row)[d]);
    default:
      return static_cast<const float*>(row)[d];
  }
}

struct RowSpan {
  std::int64_t begin = 0, end = 0;
};

// One key head of one element of the batch.
struct BatchHead {
  std::int64_t b = 0, g = 0;
};

// The memory of a task. A caller's map may itself call this library, which then uses the thread's workspace. So with a
// map, everything that must survive its calls lies in memory that the task owns.
struct TaskMemory {
  explicit TaskMemory(bool mapped)
      : kernel(Workspace::mine().kernel),
        sums(mapped ? own_sums_ : Workspace::mine().panels),
        rows(mapped ? own_rows_ : Workspace::mine().values) {}
  ~TaskMemory() { Workspace::mine().release(); }
  TaskMemory(const TaskMemory&) = delete;
  TaskMemory& operator=(const TaskMemory&) = delete;

 private:
  Floats own_sums_, own_rows_;

 public:
  Floats& kernel;
  Floats& sums;
  Floats& rows;  // phi of queries and keys, by the caller's map
};

class LinearCall {
 public:
  LinearCall(const Inputs& in, const LinearOptions& options, const View<float, 4>& out, const Sizes& sizes)
      : in_(in), options_(options), out_(out), n_(sizes) {
    widths_.features = options.map != nullptr ? options.map->width : n_.width;
    widths_.values = n_.value_width;
    part_ = std::max<std::int64_t>(n_.keys, 1);
    if (units() < kEnoughTasks) {
      const std::int64_t fair = (n_.keys * units() + kEnoughTasks - 1) / kEnoughTasks;
      const std::int64_t chunk = kernels::kLinearChunk;
      part_ = (std::max(fair, kLeastPart) + chunk - 1) / chunk * chunk;
    }
    parts_ = std::max<std::int64_t>(1, (n_.keys + part_ - 1) / part_);
  }

  void run(ThreadPool& pool) {
    if (options_.causal) {
      // Parallel parts sum their keys twice: a third more work, worth it only if there are several threads.
      return parts_ > 1 && pool.threads() > 1 ? run_parts(pool) : run_units(pool);
    }
    return units() < kEnoughTasks ? run_parts(pool) : run_units(pool);
  }

 private:
  [[nodiscard]] std::int64_t units() const noexcept { return n_.batch * n_.key_heads; }
  [[nodiscard]] BatchHead unit(std::int64_t u) const noexcept { return {u / n_.key_heads, u % n_.key_heads}; }
  [[nodiscard]] RowSpan part(std::int64_t p) const noexcept { return {p * part_, std::min(n_.keys, (p + 1) * part_)}; }
  [[nodiscard]] bool mapped() const noexcept { return options_.map != nullptr; }

  template <typename F>
  void share_out(ThreadPool& pool, std::int64_t count, F&& task) {
    pool.run(count, [&](std::int64_t n, int) {
      TaskMemory memory(mapped());
      task(n, memory);
    });
  }

  void run_units(ThreadPool& pool);
  void run_parts(ThreadPool& pool);
  void run_unit(BatchHead unit, TaskMemory& memory) const;
  void run_unit_causally(BatchHead unit, TaskMemory& memory) const;

  void add_keys(BatchHead unit, RowSpan keys, float* sum, TaskMemory& memory) const;
  void answer(BatchHead unit, RowSpan queries, const float* sum, TaskMemory& memory) const;
  void answer_causally(BatchHead unit, RowSpan rows, const kernels::LinearSums& sums, TaskMemory& memory) const;

  [[nodiscard]] kernels::LinearTask task(TaskMemory& memory) const;
  [[nodiscard]] kernels::LinearKeys keys_of(BatchHead unit, RowSpan rows, float* mapped_to) const;
  [[nodiscard]] kernels::LinearQueries queries_of(BatchHead unit, RowSpan rows, float* mapped_to) const;
  void map_rows(const AnyView<4>& view, BatchHead at, RowSpan rows, float* to) const;
  // Calls f(span, buffer for phi) for all rows at once or, with a caller's map, for a few rows at a time.
  template <typename F>
  void for_each_span(RowSpan rows, std::int64_t floats_a_row, TaskMemory& memory, F&& f) const;

  void load_state(BatchHead unit, float* sum) const;
  void store_state(BatchHead unit, const float* sum) const;

  const Inputs& in_;
  const LinearOptions& options_;
  const View<float, 4>& out_;
  Sizes n_;
  kernels::LinearWidths widths_;
  std::int64_t part_ = 0;   // keys per part
  std::int64_t parts_ = 0;  // parts per key head
};

void LinearCall::load_state(BatchHead unit, float* sum) const {
  std::fill_n(sum, widths_.sum_floats(), 0.0F);
  if (options_.state.s.empty()) return;
  for (std::int64_t f = 0; f < widths_.features; ++f) {
    std::copy_n(options_.state.s.at(unit.b, unit.g, f), widths_.values, sum + f * widths_.stride());
  }
  std::copy_n(options_.state.z.at(unit.b, unit.g), widths_.features, sum + widths_.z());
}

void LinearCall::store_state(BatchHead unit, const float* sum) const {
  if (options_.state.s.empty()) return;
  for (std::int64_t f = 0; f < widths_.features; ++f) {
    std::copy_n(sum + f * widths_.stride(), widths_.values, options_.state.s.at(unit.b, unit.g, f));
  }
  std::copy_n(sum + widths_.z(), widths_.features, options_.state.z.at(unit.b, unit.g));
}

kernels::LinearTask LinearCall::task(TaskMemory& memory) const {
  kernels::LinearTask t;
  t.widths = widths_;
  t.phi = mapped() ? kernels::Phi::identity : static_cast<kernels::Phi>(options_.feature);
  t.epsilon = options_.epsilon;
  t.scratch = memory.kernel.reserve(kernels::linear_scratch(widths_));
  return t;
}

void LinearCall::map_rows(const AnyView<4>& view, BatchHead at, RowSpan rows, float* to) const {
  float x[kMaxWidth];
  for (std::int64_t row = rows.begin; row < rows.end; ++row, to += widths_.features) {
    const void* from = rows_of(view, at.b, at.g, row).data;
    for (std::int64_t d = 0; d < n_.width; ++d) x[d] = number(from, view.type, d);
    options_.map->map(x, to);
  }
}

template <typename F>
void LinearCall::for_each_span(RowSpan rows, std::int64_t floats_a_row, TaskMemory& memory, F&& f) const {
  const std::int64_t most = mapped() ? kMappedRows : std::max<std::int64_t>(1, rows.end - rows.begin);
  float* to = mapped() ? memory.rows.reserve(std::min(most, rows.end - rows.begin) * floats_a_row) : nullptr;
  for (std::int64_t first = rows.begin; first < rows.end; first += most) {
    f(RowSpan{first, std::min(rows.end, first + most)}, to);
  }
}

kernels::LinearKeys LinearCall::keys_of(BatchHead unit, RowSpan rows, float* mapped_to) const {
  kernels::LinearKeys keys;
  keys.k = rows_of(in_.k, unit.b, unit.g, rows.begin);
  keys.v = rows_of(in_.v, unit.b, unit.g, rows.begin);
  keys.count = rows.end - rows.begin;
  if (mapped()) {
    map_rows(in_.k, unit, rows, mapped_to);
    keys.k = {mapped_to, widths_.features, kernels::Element::float32};
  }
  return keys;
}

kernels::LinearQueries LinearCall::queries_of(BatchHead unit, RowSpan rows, float* mapped_to) const {
  const std::int64_t head = unit.g * n_.group();
  kernels::LinearQueries queries;
  queries.q = rows_of(in_.q, unit.b, head, rows.begin);
  queries.q_head = in_.q.strides[1];
  queries.out = out_.at(unit.b, head, rows.begin);
  queries.out_stride = out_.strides[2];
  queries.out_head = out_.strides[1];
  queries.heads = n_.group();
  queries.count = rows.end - rows.begin;
  if (mapped()) {
    queries.q = {mapped_to, widths_.features, kernels::Element::float32};
    queries.q_head = queries.count * widths_.features;
    for (std::int64_t h = 0; h < queries.heads; ++h) {
      map_rows(in_.q, {unit.b, head + h}, rows, mapped_to + h * queries.q_head);
    }
  }
  return queries;
}

void LinearCall::add_keys(BatchHead unit, RowSpan keys, float* sum, TaskMemory& memory) const {
  for_each_span(keys, widths_.features, memory, [&](RowSpan rows, float* to) {
    const kernels::LinearKeys some = keys_of(unit, rows, to);
    kernels::add_linear_keys(task(memory), some, sum);
  });
}

void LinearCall::answer(BatchHead unit, RowSpan queries, const float* sum, TaskMemory& memory) const {
  for_each_span(queries, n_.group() * widths_.features, memory, [&](RowSpan rows, float* to) {
    const kernels::LinearQueries some = queries_of(unit, rows, to);
    kernels::answer_linear(task(memory), some, sum);
  });
}

void LinearCall::answer_causally(BatchHead unit, RowSpan all, const kernels::LinearSums& sums,
                                 TaskMemory& memory) const {
  for_each_span(all, (n_.group() + 1) * widths_.features, memory, [&](RowSpan rows, float* to) {
    const kernels::LinearKeys keys = keys_of(unit, rows, to);
    float* rest = to == nullptr ? nullptr : to + keys.count * widths_.features;
    const kernels::LinearQueries queries = queries_of(unit, rows, rest);
    kernels::answer_linear_causally(task(memory), queries, keys, sums);
  });
}

void LinearCall::run_unit(BatchHead unit, TaskMemory& memory) const {
  float* sum = memory.sums.reserve(widths_.sum_floats());
  load_state(unit, sum);
  add_keys(unit, {0, n_.keys}, sum, memory);
  answer(unit, {0, n_.queries}, sum, memory);
  store_state(unit, sum);
}

// If there are several parts, does the same additions in the same order as if each part were a task.
void LinearCall::run_unit_causally(BatchHead unit, TaskMemory& memory) const {
  const std::int64_t size = widths_.sum_floats();
  float* now = memory.sums.reserve(3 * size);
  load_state(unit, now);
  if (parts_ == 1) {
    answer_causally(unit, {0, n_.keys}, {nullptr, now, now}, memory);
  } else {
    float* before = now + size;
    float* sum = before + size;
    for (std::int64_t p = 0; p < parts_; ++p) {
      std::copy_n(now, size, before);
      std::fill_n(sum, size, 0.0F);
      answer_causally(unit, part(p), {before, sum, now}, memory);
    }
  }
  store_state(unit, now);
}

void LinearCall::run_units(ThreadPool& pool) {
  share_out(pool, units(), [&](std::int64_t u, TaskMemory& memory) {
    options_.causal ? run_unit_causally(unit(u), memory) : run_unit(unit(u), memory);
  });
}

void LinearCall::run_parts(ThreadPool& pool) {
  const std::int64_t size = widths_.sum_floats();
  Floats memory_of_sums;
  float* sums = memory_of_sums.reserve(units() * (parts_ + 1) * size);
  const auto sum_of = [&](std::int64_t u, std::int64_t p) { return sums + (u * (parts_ + 1) + p) * size; };
  share_out(pool, units() * parts_, [&](std::int64_t n, TaskMemory& memory) {
    float* sum = sum_of(n / parts_, n % parts_ + 1);
    std::fill_n(sum, size, 0.0F);
    add_keys(unit(n / parts_), part(n % parts_), sum, memory);
  });
  // Then sum p is the sum of everything before part p, and the last one is the sum of all.
  share_out(pool, units(), [&](std::int64_t u, TaskMemory&) {
    const kernels::FlushDenormals guard;  // as the kernel does where it adds the same sums itself
    load_state(unit(u), sum_of(u, 0));
    for (std::int64_t p = 0; p < parts_; ++p) {
      const float* before = sum_of(u, p);
      float* sum = sum_of(u, p + 1);
      for (std::int64_t n = 0; n < size; ++n) sum[n] += before[n];
    }
    store_state(unit(u), sum_of(u, parts_));
  });
  if (!options_.causal) {
    const std::int64_t blocks = (n_.queries + kQueryRows - 1) / kQueryRows;
    return share_out(pool, units() * blocks, [&](std::int64_t n, TaskMemory& memory) {
      const std::int64_t first = n % blocks * kQueryRows;
      answer(unit(n / blocks), {first, std::min(n_.queries, first + kQueryRows)}, sum_of(n / blocks, parts_), memory);
    });
  }
  share_out(pool, units() * parts_, [&](std::int64_t n, TaskMemory& memory) {
    const float* before = sum_of(n / parts_, n % parts_);
    float* now = memory.sums.reserve(2 * size);
    float* sum = now + size;
    std::copy_n(before, size, now);
    std::fill_n(sum, size, 0.0F);
    answer_causally(unit(n / parts_), part(n % parts_), {before, sum, now}, memory);
  });
}

}  // namespace

void linear_attention(const Inputs& in, const LinearOptions& options, View<float, 4> out, ThreadPool& pool) {
  const Sizes sizes = check_linear(in, options, out);
  if (sizes.keys == 0 && options.state.s.empty()) return write_zeros(out);
  LinearCall(in, options, out, sizes).run(pool);
}

}  // namespace attn
