#include "python/engine/backward.h"

#include <span>
#include <utility>

#include "attn/backward.h"
#include "python/engine/arrays.h"
#include "python/engine/runtime.h"
#include "python/engine/settings.h"

namespace attn::python {
namespace {

using namespace nb::literals;

// Reads an output, converted to float32.
Array read_output(nb::handle x, const char* name, int most_rank) {
  return read_array(x, {.name = name, .least_rank = most_rank - 2, .most_rank = most_rank, .any_float = true});
}

// q, k and v, and fresh memory for their gradients.
struct Room {
  Array q, k, v;
  Result dq, dk, dv;
  Inputs in;
  Gradients to;
};

Room make_room(nb::handle query, nb::handle key, nb::handle value) {
  Room room{read_array(query, {"q"}), read_array(key, {"k"}), read_array(value, {"v"}), {}, {}, {}, {}, {}};
  const auto fresh = [](const Array& array, Result& result) {
    result = new_result_like(array, array.view.shape);
    return View<float, 4>(result.data, array.view.shape);
  };
  room.in = {room.q.view, room.k.view, room.v.view};
  room.to = {fresh(room.q, room.dq), fresh(room.k, room.dk), fresh(room.v, room.dv), {}, {}};
  return room;
}

nb::object or_none(const Result& result) { return result.data == nullptr ? nb::none() : result.array; }

// outputs: (out, lse, d_out, d_lse or None, whether to compute the gradient of the bias, and of the sink). Returns the
// gradients of q, k, v, bias and sink.
nb::tuple attention_backward(nb::handle query, nb::handle key, nb::handle value, const nb::tuple& given,
                             const nb::tuple& outputs) {
  Room room = make_room(query, key, value);
  Settings settings;
  read_settings(given, extent_of(room.q.view, room.k.view), settings);
  const Options& options = settings.options;
  const Array out = read_output(outputs[0], "out", 4), lse = read_output(outputs[1], "lse", 3);
  const Array d_out = read_output(outputs[2], "d_out", 4);
  Array d_lse;
  if (const nb::object given_d_lse = outputs[3]; !given_d_lse.is_none()) d_lse = read_output(given_d_lse, "d_lse", 3);

  Result d_bias, d_sink;
  if (nb::cast<bool>(outputs[4])) {
    const auto lacking = static_cast<std::size_t>(4 - settings.bias.rank);
    d_bias = new_result(settings.bias.kind, std::span(settings.bias.view.shape).subspan(lacking));
    if (options.bias.empty())
      room.to.d_dense_bias = {d_bias.data, options.dense_bias.shape};
    else
      room.to.d_bias = {d_bias.data, options.bias.shape};
  }
  if (nb::cast<bool>(outputs[5])) {
    d_sink = new_result(settings.sink.kind, options.sink.shape);
    room.to.d_sink = {d_sink.data, options.sink.shape};
  }

  const Outputs was{last_axes<4>(out), last_axes<3>(lse), last_axes<4>(d_out), last_axes<3>(d_lse)};
  const auto threads = pool();
  {
    const nb::gil_scoped_release released;
    attn::attention_backward(room.in, options, was, room.to, *threads);
  }
  return nb::make_tuple(in_type_of(room.q, room.dq.array), in_type_of(room.k, room.dk.array),
                        in_type_of(room.v, room.dv.array), or_none(d_bias), or_none(d_sink));
}

// outputs: (out, d_out)
nb::tuple linear_backward(nb::handle query, nb::handle key, nb::handle value, const nb::tuple& given,
                          const nb::tuple& outputs) {
  const Room room = make_room(query, key, value);
  const LinearOptions options = read_linear(given);
  const Array out = read_output(outputs[0], "out", 4), d_out = read_output(outputs[1], "d_out", 4);
  const auto threads = pool();
  {
    const nb::gil_scoped_release released;
    attn::linear_backward(room.in, options, {last_axes<4>(out), {}, last_axes<4>(d_out)}, room.to, *threads);
  }
  return nb::make_tuple(in_type_of(room.q, room.dq.array), in_type_of(room.k, room.dk.array),
                        in_type_of(room.v, room.dv.array));
}

}  // namespace

void bind_backward(nb::module_& m) {
  m.def("attention_backward", &attention_backward, "q"_a, "k"_a, "v"_a, "options"_a, "outputs"_a);
  m.def("linear_backward", &linear_backward, "q"_a, "k"_a, "v"_a, "options"_a, "outputs"_a);
}

}  // namespace attn::python
