#include "bias.h"

#include <algorithm>
#include <utility>

#include "arrays.h"
#include "attn/bias.h"

namespace attn::python {
namespace {

using namespace nb::literals;

Array read_table(nb::handle table) {
  return read_array(table, {.name = "table", .least_rank = 2, .most_rank = 2, .any_float = true});
}

DistanceTable copied(const DistanceBias& bias) {
  const View<const float, 2> view = bias.view();
  Result result = new_result(Kind::numpy, view.shape);
  std::copy_n(view.data, view.size(), result.data);
  return {std::move(result.array)};
}

Positions positions(const nb::tuple& given) {
  return {nb::cast<std::int64_t>(given[0]), nb::cast<std::int64_t>(given[1]), nb::cast<std::int64_t>(given[2])};
}

const char* const kDoc =
    R"doc(A bias that depends on j - i alone: see distance_bias(), alibi(), t5_bias(), clamped_relative().

``table`` is [H, N+M-1], where query i and key j meet at index j - i + N - 1.
)doc";

}  // namespace

void bind_bias(nb::module_& m) {
  nb::class_<DistanceTable>(m, "DistanceBias", kDoc)
      .def(
          "__init__", [](DistanceTable* self, nb::object table) { new (self) DistanceTable{std::move(table)}; },
          "table"_a)
      .def_ro("table", &DistanceTable::table);
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
