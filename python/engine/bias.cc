#include "python/engine/bias.h"

#include <algorithm>
#include <utility>

#include "attn/bias.h"
#include "python/engine/arrays.h"

namespace attn::python {
namespace {

Array read_table(nb::handle table) {
  return read_array(table, {.name = "table", .least_rank = 2, .most_rank = 2, .any_float = true});
}

nb::object copied(const DistanceBias& bias) {
  const View<const float, 2> view = bias.view();
  Result result = new_result(Kind::numpy, view.shape);
  std::copy_n(view.data, view.size(), result.data);
  return std::move(result.array);
}

Positions positions(const nb::tuple& given) {
  return {nb::cast<std::int64_t>(given[0]), nb::cast<std::int64_t>(given[1]), nb::cast<std::int64_t>(given[2])};
}

}  // namespace

bool is_distance_bias(nb::handle x) {
  static PyObject* const type = nb::getattr(nb::module_::import_("attnscope._bias"), "DistanceBias").release().ptr();
  const int is = PyObject_IsInstance(x.ptr(), type);
  if (is < 0) throw nb::python_error();
  return is != 0;
}

void bind_bias(nb::module_& m) {
  m.def("alibi", [](std::int64_t heads, const nb::tuple& where) { return copied(alibi(heads, positions(where))); });
  m.def("t5_bias", [](nb::handle table, const nb::tuple& where, bool bidirectional, std::int64_t max_distance) {
    const Array array = read_table(table);
    const View<const float, 2> view = last_axes<2>(array);
    return copied(t5_bias(view, positions(where), {bidirectional, view.shape[0], max_distance}));
  });
  m.def("clamped_relative", [](nb::handle table, const nb::tuple& where) {
    const Array array = read_table(table);
    return copied(clamped_relative(last_axes<2>(array), positions(where)));
  });
}

}  // namespace attn::python
