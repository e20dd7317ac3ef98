#include "python/scope/names.h"

#include <algorithm>
#include <stdexcept>

#include "python/engine/arrays.h"

namespace attn::python {

nb::str text_of(std::string_view text) {
  PyObject* const made = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
  if (made == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(made);
}

nb::object array_of(const nn::Matrix& table) {
  const Result out = new_result(Kind::numpy, Shape<2>{table.rows(), table.columns()});
  std::copy_n(table.data(), table.rows() * table.columns(), out.data);
  return out.array;
}

nb::object array_of(std::span<const float> numbers) {
  const Result out = new_result(Kind::numpy, Shape<1>{std::ssize(numbers)});
  std::ranges::copy(numbers, out.data);
  return out.array;
}

nn::Matrix copied(nb::handle array, const char* name) {
  const Array read = read_array(array, {.name = name, .least_rank = 2, .most_rank = 2, .any_float = true});
  const View<const float, 2> from = last_axes<2>(read);
  nn::Matrix copy(from.shape[0], from.shape[1]);
  for (std::int64_t i = 0; i < from.shape[0]; ++i) std::copy_n(from.at(i), from.shape[1], copy.row(i));
  return copy;
}

model::Kind parse_kind(const std::string& name) {
  if (const auto kind = model::parse_kind(name)) return *kind;
  throw std::invalid_argument("there is no kind '" + name + "' of attention; choose self, decoder or cross");
}

std::optional<insight::Kind> kind_of(const Recording& recording, const std::optional<std::string>& name) {
  if (!name) return std::nullopt;
  return recording.tables->stack(parse_kind(*name)).kind;
}

}  // namespace attn::python
