#include "calls.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "arrays.h"
#include "attn/attention.h"
#include "attn/linear.h"
#include "bias.h"
#include "masks.h"
#include "runtime.h"

namespace attn::python {
namespace {

using namespace nb::literals;

// What attention() is asked to return beside its output.
constexpr int kLse = 1;
constexpr int kWeights = 2;

float to_float(nb::handle x, const char* name) {
  const double value = PyFloat_AsDouble(x.ptr());
  if (value != -1 || PyErr_Occurred() == nullptr) return static_cast<float>(value);
  PyErr_Clear();
  throw nb::type_error((std::string(name) + " must be a number").c_str());
}

std::uint64_t to_seed(nb::handle x) {
  const std::uint64_t value = PyLong_AsUnsignedLongLong(x.ptr());
  if (PyErr_Occurred() == nullptr) return value;
  const bool no_integer = PyErr_ExceptionMatches(PyExc_TypeError) != 0;
  PyErr_Clear();
  const char* const text = "seed must be an integer from 0 to 2**64 - 1";
  if (no_integer) throw nb::type_error(text);
  throw nb::value_error(text);
}

// Options, and what they borrow from.
struct Settings {
  Options options;
  Array bias, sink;
};

void read_bias(nb::handle x, Settings& settings) {
  if (nb::isinstance<DistanceTable>(x)) {
    settings.bias = read_array(nb::cast<const DistanceTable&>(x).table,
                               {.name = "bias", .least_rank = 1, .most_rank = 2, .any_float = true});
    settings.options.bias = last_axes<2>(settings.bias);
  } else {
    settings.bias = read_array(x, {.name = "bias", .least_rank = 1, .most_rank = 4, .any_float = true});
    settings.options.dense_bias = last_axes<4>(settings.bias);
  }
}

// The tuple (mask, scale, softcap, bias, sink, dropout, seed) that attnscope/_attention.py builds.
void read_settings(const nb::tuple& given, const Extent& extent, int rank, Settings& settings) {
  const auto at = [&](int index) { return nb::handle(PyTuple_GetItem(given.ptr(), index)); };
  Options& options = settings.options;
  MaskArgument mask = read_mask(at(0), extent, rank);
  options.mask = std::move(mask.mask);
  options.plan = mask.plan;
  if (!at(1).is_none()) options.scale = to_float(at(1), "scale");
  if (!at(2).is_none()) options.softcap = to_float(at(2), "softcap");
  if (!at(3).is_none()) read_bias(at(3), settings);
  if (!at(4).is_none()) {
    settings.sink = read_array(at(4), {.name = "sink", .least_rank = 1, .most_rank = 1, .any_float = true});
    options.sink = last_axes<1>(settings.sink);
  }
  options.dropout.rate = to_float(at(5), "dropout");
  options.dropout.seed = to_seed(at(6));
}

Extent extent_of(const AnyView<4>& q, const AnyView<4>& k) { return {q.shape[0], q.shape[1], q.shape[2], k.shape[2]}; }

nb::object attention(nb::handle query, nb::handle key, nb::handle value, const nb::tuple& given, int returns) {
  const Array q = read_array(query, {"q"}), k = read_array(key, {"k"}), v = read_array(value, {"v"});
  const Extent extent = extent_of(q.view, k.view);
  Settings settings;
  read_settings(given, extent, q.rank, settings);

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
  read_settings(given, extent_of(q.view, k.view), q.rank, settings);

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

// given: (feature, causal, epsilon)
nb::object linear_attention(nb::handle query, nb::handle key, nb::handle value, const nb::tuple& given) {
  const Array q = read_array(query, {"q"}), k = read_array(key, {"k"}), v = read_array(value, {"v"});
  LinearOptions options;
  options.feature = static_cast<Feature>(nb::cast<int>(given[0]));
  options.causal = nb::cast<bool>(given[1]);
  options.epsilon = to_float(given[2], "epsilon");

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

}  // namespace

void bind_calls(nb::module_& m) {
  // None is taken here and refused by read_array, which can say what was wanted.
  m.def("attention", &attention, "q"_a.none(), "k"_a.none(), "v"_a.none(), "options"_a, "returns"_a);
  m.def("weights", &weights, "q"_a.none(), "k"_a.none(), "lse"_a.none(), "options"_a, "window"_a);
  m.def("linear_attention", &linear_attention, "q"_a.none(), "k"_a.none(), "v"_a.none(), "options"_a);
}

}  // namespace attn::python
