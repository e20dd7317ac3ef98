#include "python/engine/settings.h"

#include <cstdint>
#include <string>
#include <utility>

#include "python/engine/bias.h"
#include "python/engine/masks.h"
#include "python/engine/runtime.h"

namespace attn::python {
namespace {

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

// The same numbers for every key: a last axis of length 1, repeated.
nb::object repeated(const Array& array, std::int64_t keys) {
  const nb::object shape = with_keys(array.owner, keys);
  if (array.kind == Kind::torch) return array.owner.attr("expand")(shape).attr("contiguous")();
  const nb::module_ numpy = nb::module_::import_("numpy");
  return numpy.attr("ascontiguousarray")(numpy.attr("broadcast_to")(array.owner, shape));
}

void read_bias(nb::handle x, std::int64_t keys, Settings& settings) {
  if (is_distance_bias(x)) {
    static const Name table("table");
    settings.bias = read_array(table.of(x), {.name = "bias", .least_rank = 1, .most_rank = 2, .any_float = true});
    settings.options.bias = last_axes<2>(settings.bias);
  } else {
    const Wanted wanted{.name = "bias", .least_rank = 1, .most_rank = 4, .any_float = true};
    settings.bias = read_array(x, wanted);
    if (settings.bias.view.shape[3] == 1 && keys != 1)
      settings.bias = read_array(repeated(settings.bias, keys), wanted);
    settings.options.dense_bias = last_axes<4>(settings.bias);
  }
}

}  // namespace

void read_settings(const nb::tuple& given, const Extent& extent, Settings& settings) {
  const auto at = [&](int index) { return nb::handle(PyTuple_GetItem(given.ptr(), index)); };
  Options& options = settings.options;
  MaskArgument mask = read_mask(at(0), extent);
  options.mask = std::move(mask.mask);
  options.plan = mask.plan;
  if (!at(1).is_none()) options.scale = to_float(at(1), "scale");
  if (!at(2).is_none()) options.softcap = to_float(at(2), "softcap");
  if (!at(3).is_none()) read_bias(at(3), extent.keys, settings);
  if (!at(4).is_none()) {
    settings.sink = read_array(at(4), {.name = "sink", .least_rank = 1, .most_rank = 1, .any_float = true});
    options.sink = last_axes<1>(settings.sink);
  }
  options.dropout.rate = to_float(at(5), "dropout");
  options.dropout.seed = to_seed(at(6));
}

LinearOptions read_linear(const nb::tuple& given) {
  LinearOptions options;
  options.feature = static_cast<Feature>(nb::cast<int>(given[0]));
  options.causal = nb::cast<bool>(given[1]);
  options.epsilon = to_float(given[2], "epsilon");
  return options;
}

Extent extent_of(const AnyView<4>& q, const AnyView<4>& k) { return {q.shape[0], q.shape[1], q.shape[2], k.shape[2]}; }

}  // namespace attn::python
