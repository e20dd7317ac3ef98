#include "python/engine/masks.h"

#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "python/engine/arrays.h"
#include "python/engine/runtime.h"

namespace attn::python {
namespace {

using namespace nb::literals;

// A numpy array of rank 1 to 4, with strides in elements. attnscope/_masks.py has made its last axis contiguous.
template <typename T>
struct NumpyTable {
  const T* data = nullptr;
  std::vector<std::int64_t> shape, strides;
};

template <typename T>
NumpyTable<T> table_of(nb::handle array) {
  const Raw raw = read_raw(array);
  if (raw.rank < 1 || raw.rank > 4)
    throw nb::value_error(("a mask table has 1 to 4 axes, not " + std::to_string(raw.rank)).c_str());
  NumpyTable<T> table{static_cast<const T*>(raw.data), {}, {}};
  for (int axis = 0; axis < raw.rank; ++axis) {
    table.shape.push_back(raw.shape[axis]);
    table.strides.push_back(raw.strides[axis] / static_cast<std::int64_t>(sizeof(T)));
  }
  return table;
}

bool holds_bools(nb::handle array) {
  static const Name dtype("dtype");
  return dtype.of(array).equal(nb::handle(numpy_now().boolean));
}

Mask mask_of(nb::handle array, const TableAxes& axes) {
  if (holds_bools(array)) return table(View<const bool, 4>(table_of<bool>(array).data, axes.shape, axes.strides));
  return additive(View<const float, 4>(table_of<float>(array).data, axes.shape, axes.strides));
}

// Axis t of the table is letters[t] of "BHNM"; axes without a letter are 1.
template <typename T>
TableAxes named_axes(const NumpyTable<T>& table, const std::string& letters) {
  constexpr std::string_view all = "BHNM";
  if (letters.size() != table.shape.size())
    throw nb::value_error(
        ("axes '" + letters + "' do not name the axes of a table of shape " + shape_text(table.shape)).c_str());
  TableAxes axes{{1, 1, 1, 1}, {0, 0, 0, 1}};
  std::size_t before = 0;
  for (std::size_t axis = 0; axis < letters.size(); ++axis) {
    const std::size_t at = all.find(letters[axis]);
    if (at >= all.size() || (axis > 0 && at <= before) || (axis + 1 == letters.size() && at != 3))
      throw nb::value_error(("axes '" + letters + "' must be letters of BHNM in that order, with M last").c_str());
    before = at;
    axes.shape[at] = table.shape[axis];
    axes.strides[at] = table.shape[axis] == 1 && at != 3 ? 0 : table.strides[axis];
  }
  return axes;
}

Mask mask_of_axes(nb::handle array, const std::string& letters) {
  return mask_of(array, holds_bools(array) ? named_axes(table_of<bool>(array), letters)
                                           : named_axes(table_of<float>(array), letters));
}

// Repeats the last axis of a table, which has the length 1, for every key.
nb::object for_every_key(nb::handle table, std::int64_t keys) {
  const nb::object stretched = nb::module_::import_("numpy").attr("broadcast_to")(table, with_keys(table, keys));
  return nb::borrow(numpy_now().ascontiguousarray)(stretched);
}

template <typename T>
View<const T, 2> two_axes(nb::handle array) {
  const NumpyTable<T> table = table_of<T>(array);
  const std::size_t last = table.shape.size() - 1;
  const bool one = last == 0;
  return {table.data, {one ? 1 : table.shape[0], table.shape[last]}, {one ? 0 : table.strides[0], 1}};
}

// Every pair, as a numpy array [B, H, N, M].
nb::object whole_table(const Mask& mask, const Extent& extent) {
  if (std::min({extent.batch, extent.heads, extent.queries, extent.keys}) < 0)
    throw nb::value_error("sizes must not be negative");
  mask.check(extent);
  nb::object array = nb::borrow(numpy_now().empty)(
      nb::make_tuple(extent.batch, extent.heads, extent.queries, extent.keys), nb::borrow(numpy_now().boolean));
  auto* out = static_cast<bool*>(read_raw(array).data);
  for (std::int64_t b = 0; b < extent.batch; ++b)
    for (std::int64_t h = 0; h < extent.heads; ++h)
      for (std::int64_t i = 0; i < extent.queries; ++i)
        for (std::int64_t j = 0; j < extent.keys; j += 64) {
          const std::uint64_t bits = mask.row(b, h, i, j);
          for (std::int64_t t = 0; t < std::min<std::int64_t>(64, extent.keys - j); ++t)
            *out++ = ((bits >> t) & 1) != 0;
        }
  return array;
}

// What a mask adds to the scores, as a numpy array [1|B, 1|H, 1|N, M], or None.
nb::object mask_bias(const Mask& mask) {
  const View<const float, 4> bias = mask.bias();
  if (bias.empty()) return nb::none();
  Result copy = new_result(Kind::numpy, bias.shape);
  std::copy_n(bias.data, bias.size(), copy.data);
  return std::move(copy.array);
}

// Compares masks by their text. A mask with a bias has no text, so it equals only its copies.
bool same(const Mask& a, const Mask& b) {
  if (a.node() == b.node()) return true;
  return a.bias().empty() && b.bias().empty() && a.text() == b.text();
}

// Combines a mask with another mask, with text or with a table.
template <typename Join>
nb::object joined(const Mask& mask, nb::handle other, const Join& join) {
  if (nb::isinstance<Mask>(other)) return nb::cast(join(mask, nb::cast<const Mask&>(other)));
  if (!nb::isinstance<nb::str>(other) && !nb::hasattr(other, "__dlpack__")) return nb::borrow(Py_NotImplemented);
  const nb::object read = nb::module_::import_("attnscope").attr("mask")(other);
  return nb::cast(join(mask, nb::cast<const Mask&>(read)));
}

nb::object pickled(const Mask& mask) {
  if (!mask.bias().empty()) throw nb::type_error("a mask with a bias has no text and cannot be pickled");
  return nb::make_tuple(nb::module_::import_("attnscope").attr("mask"), nb::make_tuple(mask.text()));
}

Plan make_plan(nb::handle mask, const Extent& extent) {
  const Mask read = read_mask(mask, extent).mask;
  const nb::gil_scoped_release released;
  return {read, TilePlan(read, extent)};
}

const char* const kMaskDoc = R"doc(Which query may see which key, as one small value.

Made by causal(), window(), padding() ... or mask(text); combined by ``&``, ``|`` and ``~``.

>>> import attnscope as at
>>> m = at.causal() & at.window(1)
>>> print(m)
causal & window(1)
>>> m.table(3, 3)
array([[ True, False, False],
       [ True,  True, False],
       [False,  True,  True]])
>>> m == at.mask("causal & window(1)")
True
)doc";

const char* const kTableDoc = R"doc(Returns every pair as a numpy array of bool: [N, M], or [B, H, N, M].)doc";

const char* const kPlanDoc = R"doc(A mask compiled once for one shape, to be used in many calls: see plan().)doc";

void bind_plan(nb::module_& m) {
  nb::class_<Plan>(m, "Plan", kPlanDoc)
      .def_ro("mask", &Plan::mask)
      .def_prop_ro("shape",
                   [](const Plan& plan) {
                     const Extent& e = plan.tiles.extent();
                     return nb::make_tuple(e.batch, e.heads, e.queries, e.keys);
                   })
      .def_prop_ro("pairs", [](const Plan& plan) { return plan.tiles.pairs(); })
      .def("__repr__", [](const Plan& plan) {
        const Extent& e = plan.tiles.extent();
        const std::array<std::int64_t, 4> shape{e.batch, e.heads, e.queries, e.keys};
        return "Plan('" + plan.mask.text() + "', shape=" + shape_text(shape) + ")";
      });
  m.def(
      "plan",
      [](nb::handle mask, std::int64_t batch, std::int64_t heads, std::int64_t queries, std::int64_t keys) {
        return make_plan(mask, {batch, heads, queries, keys});
      },
      "mask"_a.none(), "batch"_a, "heads"_a, "queries"_a, "keys"_a);
}

void bind_rules(nb::module_& m) {
  m.def("parse_mask", [](const std::string& text) { return parse_mask(text); });
  m.def("causal", [](std::int64_t offset) { return Mask(Causal{offset}); });
  m.def("causal_per_sequence",
        [](const std::vector<std::int64_t>& offsets) { return Mask(CausalPerSequence(offsets)); });
  m.def("window", [](std::int64_t left, std::int64_t right) { return Mask(Window(left, right)); });
  m.def("dilated", [](std::int64_t width, std::int64_t dilation) { return Mask(Dilated(width, dilation)); });
  m.def("natten", [](std::array<std::int64_t, 2> canvas, std::array<std::int64_t, 2> kernel) {
    return Mask(Natten({canvas[0], canvas[1]}, {kernel[0], kernel[1]}));
  });
  m.def("sparse", [](std::int64_t stride) { return Mask(Sparse(stride)); });
  m.def("global_", [](std::int64_t count) { return Mask(Global(count)); });
  m.def("block", [](std::int64_t size) { return Mask(Block(size)); });
  m.def("prefix", [](const std::vector<std::int64_t>& lengths) { return Mask(Prefix(lengths)); });
  m.def("padding", [](const std::vector<std::int64_t>& lengths) { return Mask(Padding(lengths)); });
  m.def("padding_table", [](nb::handle table) { return padding_table(two_axes<bool>(table)); });
  m.def("padding_ids", [](nb::handle ids, std::int64_t pad) { return padding_ids(two_axes<std::int64_t>(ids), pad); });
  m.def(
      "document",
      [](nb::handle ids, nb::handle key_ids) {
        if (key_ids.is_none()) return Mask(Document(two_axes<std::int64_t>(ids)));
        return Mask(Document(two_axes<std::int64_t>(ids), two_axes<std::int64_t>(key_ids)));
      },
      "ids"_a, "key_ids"_a.none());
  m.def("mask_of_axes", &mask_of_axes);
  m.def("mask_bias", &mask_bias);
  m.attr("unlimited") = kUnlimited;
}

}  // namespace

MaskArgument read_mask(nb::handle x, const Extent& extent) {
  if (x.is_none()) return {};
  if (nb::isinstance<Mask>(x)) return {nb::cast<const Mask&>(x)};
  if (nb::isinstance<Plan>(x)) {
    const auto& plan = nb::cast<const Plan&>(x);
    return {plan.mask, &plan.tiles};
  }
  const Raw raw = read_raw(x);
  if (raw.rank > 0 && raw.rank <= 4 && raw.shape[raw.rank - 1] == 1 && extent.keys != 1)
    return read_mask(for_every_key(x, extent.keys), extent);
  const auto fitted = [&](const auto& table) { return table_axes(table.shape, table.strides, extent); };
  return {mask_of(x, holds_bools(x) ? fitted(table_of<bool>(x)) : fitted(table_of<float>(x)))};
}

void bind_masks(nb::module_& m) {
  auto mask_type = nb::class_<Mask>(m, "Mask", kMaskDoc);
  mask_type.attr("__array_ufunc__") = nb::none();  // or numpy would compute `table & mask` element by element
  mask_type
      .def("__and__", [](const Mask& a, nb::handle b) { return joined(a, b, [](auto& x, auto& y) { return x & y; }); })
      .def("__rand__", [](const Mask& b, nb::handle a) { return joined(b, a, [](auto& x, auto& y) { return y & x; }); })
      .def("__or__", [](const Mask& a, nb::handle b) { return joined(a, b, [](auto& x, auto& y) { return x | y; }); })
      .def("__ror__", [](const Mask& b, nb::handle a) { return joined(b, a, [](auto& x, auto& y) { return y | x; }); })
      .def("__invert__", [](const Mask& a) { return ~a; })
      .def("__eq__", &same, nb::is_operator())
      .def("__hash__", [](const Mask& mask) { return nb::hash(nb::str(mask.text().c_str())); })
      .def("__deepcopy__", [](const Mask& mask, nb::handle) { return mask; })  // immutable
      .def("__reduce__", &pickled)
      .def("__str__", &Mask::text)
      .def("__repr__", [](const Mask& mask) { return "attnscope.mask('" + mask.text() + "')"; })
      .def(
          "table",
          [](const Mask& mask, std::int64_t queries, std::int64_t keys) {
            return nb::object(whole_table(mask, {1, 1, queries, keys})[nb::make_tuple(0, 0)]);
          },
          "queries"_a, "keys"_a, kTableDoc)
      .def(
          "table",
          [](const Mask& mask, std::int64_t batch, std::int64_t heads, std::int64_t queries, std::int64_t keys) {
            return whole_table(mask, {batch, heads, queries, keys});
          },
          "batch"_a, "heads"_a, "queries"_a, "keys"_a)
      .def(
          "draw",
          [](const Mask& mask, std::int64_t queries, std::int64_t keys) {
            std::string lines = draw(mask, queries, keys);
            if (lines.ends_with('\n')) lines.pop_back();
            return lines;
          },
          "queries"_a, "keys"_a, "Draws the pairs as text, one line per query.");
  bind_rules(m);
  bind_plan(m);
}

}  // namespace attn::python
