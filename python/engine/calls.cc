#include "python/engine/calls.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "attn/attention.h"
#include "attn/linear.h"
#include "python/engine/arrays.h"
#include "python/engine/runtime.h"
#include "python/engine/settings.h"

namespace attn::python {
namespace {

using namespace nb::literals;

// What attention() returns besides its output.
constexpr int kLse = 1;
constexpr int kWeights = 2;

nb::object attention(nb::handle query, nb::handle key, nb::handle value, const nb::tuple& given, int returns) {
  const Array q = read_array(query, {"q"}), k = read_array(key, {"k"}), v = read_array(value, {"v"});
  const Extent extent = extent_of(q.view, k.view);
  Settings settings;
  read_settings(given, extent, settings);

  const Shape<4> out_shape{extent.batch, extent.heads, extent.queries, v.view.shape[3]};
  const Shape<3> lse_shape{extent.batch, extent.heads, extent.queries};
  const Shape<4> weights_shape{extent.batch, extent.heads, extent.queries, extent.keys};
  const Result out = new_result_like(q, out_shape);
  Result lse, weights;
  if ((returns & kLse) != 0)
    lse = new_result(q.kind, std::span(lse_shape).subspan(static_cast<std::size_t>(4 - q.rank)));
  if ((returns & kWeights) != 0) weights = new_result_like(q, weights_shape);

  const Inputs in{q.view, k.view, v.view};
  const View<float, 4> out_view(out.data, out_shape);
  const View<float, 3> lse_view = lse.data == nullptr ? View<float, 3>() : View<float, 3>(lse.data, lse_shape);
  const auto threads = pool();
  {
    const nb::gil_scoped_release released;
    if (weights.data == nullptr)
      attn::attention(in, settings.options, out_view, lse_view, *threads);
    else
      attn::attention(in, settings.options, out_view, lse_view, View<float, 4>(weights.data, weights_shape), *threads);
  }
  nb::object shown = in_type_of(q, out.array);
  if (returns == 0) return shown;
  if (returns == kLse) return nb::make_tuple(shown, lse.array);
  if (returns == kWeights) return nb::make_tuple(shown, weights.array);
  return nb::make_tuple(shown, lse.array, weights.array);
}

// window: (first row, rows, first column, columns)
nb::object weights(nb::handle query, nb::handle key, nb::handle lse, const nb::tuple& given, const nb::tuple& window) {
  const Array q = read_array(query, {"q"}), k = read_array(key, {"k"});
  const Array sums = read_array(lse, {.name = "lse", .least_rank = 1, .most_rank = 3, .any_float = true});
  Settings settings;
  read_settings(given, extent_of(q.view, k.view), settings);

  const auto at = [&](int index) { return nb::cast<std::int64_t>(window[index]); };
  const Shape<4> shape{q.view.shape[0], q.view.shape[1], at(1), at(3)};
  const Result result = new_result_like(q, shape);
  const Rectangle rectangle{at(0), at(2)};
  const Inputs in{q.view, k.view, {}};
  const auto threads = pool();
  {
    const nb::gil_scoped_release released;
    attn::weights(in, settings.options, last_axes<3>(sums), rectangle, View<float, 4>(result.data, shape), *threads);
  }
  return result.array;
}

nb::object linear_attention(nb::handle query, nb::handle key, nb::handle value, const nb::tuple& given) {
  const Array q = read_array(query, {"q"}), k = read_array(key, {"k"}), v = read_array(value, {"v"});
  const LinearOptions options = read_linear(given);
  const Shape<4> shape{q.view.shape[0], q.view.shape[1], q.view.shape[2], v.view.shape[3]};
  const Result out = new_result_like(q, shape);
  const Inputs in{q.view, k.view, v.view};
  const auto threads = pool();
  {
    const nb::gil_scoped_release released;
    attn::linear_attention(in, options, View<float, 4>(out.data, shape), *threads);
  }
  return in_type_of(q, out.array);
}

// Which weights dropout keeps, as a numpy array of bool [B, H, N, M].
nb::object dropout_kept(double rate, std::uint64_t seed, const nb::tuple& shape) {
  nb::object array = nb::borrow(numpy_now().empty)(shape, nb::borrow(numpy_now().boolean));
  auto* out = static_cast<bool*>(read_raw(array).data);
  const Dropout dropout{.rate = static_cast<float>(rate), .seed = seed};
  const auto size = [&](int axis) { return nb::cast<std::int64_t>(shape[axis]); };
  for (std::int64_t b = 0; b < size(0); ++b)
    for (std::int64_t h = 0; h < size(1); ++h)
      for (std::int64_t i = 0; i < size(2); ++i)
        for (std::int64_t j = 0; j < size(3); ++j) *out++ = dropout_keeps(dropout, b, h, i, j);
  return array;
}

}  // namespace

void bind_calls(nb::module_& m) {
  const nb::exception<GradientWanted> gradient_wanted(m, "GradientWanted", PyExc_RuntimeError);
  // Accepts None here, so that read_array rejects it with a better message.
  m.def("attention", &attention, "q"_a.none(), "k"_a.none(), "v"_a.none(), "options"_a, "returns"_a);
  m.def("weights", &weights, "q"_a.none(), "k"_a.none(), "lse"_a.none(), "options"_a, "window"_a);
  m.def("dropout_kept", &dropout_kept, "rate"_a, "seed"_a, "shape"_a);
  m.def("linear_attention", &linear_attention, "q"_a.none(), "k"_a.none(), "v"_a.none(), "options"_a);
}

}  // namespace attn::python
