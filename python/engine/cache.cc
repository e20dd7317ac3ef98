#include "python/engine/cache.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "attn/kv_cache.h"
#include "python/engine/arrays.h"
#include "python/engine/runtime.h"

namespace attn::python {
namespace {

using namespace nb::literals;

const char* type_name(Type type) {
  return type == Type::float32 ? "float32" : type == Type::float16 ? "float16" : "bfloat16";
}

// "float16", numpy.float16, numpy.dtype("float16"), torch.float16
Type type_of_name(nb::handle dtype) {
  std::string name = nb::cast<std::string>(nb::str(nb::hasattr(dtype, "__name__") ? dtype.attr("__name__") : dtype));
  if (name.starts_with("torch.")) name = name.substr(6);
  for (const Type type : {Type::float32, Type::float16, Type::bfloat16})
    if (name == type_name(type)) return type;
  throw nb::value_error(("dtype is " + name + "; a cache holds float32, float16 or bfloat16").c_str());
}

nb::tuple shape_of(const CacheView& view) {
  const Shape<4>& s = view.view.shape;
  return nb::make_tuple(s[0], s[1], s[2], s[3]);
}

nb::dlpack::dtype dlpack_of_type(Type type) {
  const auto code = type == Type::bfloat16 ? nb::dlpack::dtype_code::Bfloat : nb::dlpack::dtype_code::Float;
  return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * size_of(type)), 1};
}

template <typename Framework>
nb::object exported(const CacheView& view, nb::dlpack::dtype type) {
  std::array<std::size_t, 4> shape{};
  std::copy(view.view.shape.begin(), view.view.shape.end(), shape.begin());
  const nb::ndarray<Framework> array(const_cast<void*>(view.view.data), 4, shape.data(), view.cache,
                                     view.view.strides.data(), type);
  return nb::cast(array, nb::rv_policy::reference);
}

nb::object as_numpy(const CacheView& view) {
  if (view.view.type != Type::bfloat16) return exported<nb::numpy>(view, dlpack_of_type(view.view.type));
  nb::object bits = exported<nb::numpy>(view, nb::dtype<std::uint16_t>());
  return bits.attr("view")(nb::module_::import_("ml_dtypes").attr("bfloat16"));
}

nb::object as_torch(const CacheView& view) { return exported<nb::pytorch>(view, dlpack_of_type(view.view.type)); }

void append(KvCache& cache, nb::handle k, nb::handle v) {
  const Array keys = read_array(k, {"k"}), values = read_array(v, {"v"});
  cache.append(keys.view, values.view);
}

nb::object keys(nb::handle cache) { return nb::cast(CacheView{nb::cast<KvCache&>(cache).k(), nb::borrow(cache)}); }
nb::object values(nb::handle cache) { return nb::cast(CacheView{nb::cast<KvCache&>(cache).v(), nb::borrow(cache)}); }

const char* const kCacheDoc = R"doc(Keys and values of what has been seen so far, growing a few tokens at a time.

Address space for max_tokens is set aside at once, memory is taken only as tokens come: growing never
copies what is there. ``k`` and ``v`` go into attention() as they are.

>>> import numpy as np, attnscope as at
>>> cache = at.KvCache(batch=1, heads=2, width=8, dtype="float16")
>>> for _ in range(3):
...     cache.append(np.ones((1, 2, 1, 8), np.float32), np.ones((1, 2, 1, 8), np.float32))
>>> len(cache), cache.k.shape
(3, (1, 2, 3, 8))
>>> q = np.ones((1, 4, 1, 8), np.float32)
>>> at.attention(q, cache.k, cache.v).shape
(1, 4, 1, 8)
>>> cache.truncate(1)
>>> len(cache)
1
)doc";

const char* const kViewDoc = R"doc(Keys or values of a KvCache, as attention() takes them: no copy is made.

>>> import numpy as np, attnscope as at
>>> cache = at.KvCache(batch=1, heads=1, width=4)
>>> cache.append(np.ones((1, 1, 2, 4), np.float32), np.zeros((1, 1, 2, 4), np.float32))
>>> cache.k.numpy().sum()
np.float32(8.0)
)doc";

}  // namespace

void bind_cache(nb::module_& m) {
  nb::class_<CacheView>(m, "CacheView", kViewDoc)
      .def_prop_ro("shape", &shape_of)
      .def_prop_ro("dtype", [](const CacheView& view) { return type_name(view.view.type); })
      .def("numpy", &as_numpy, "Returns the same memory as a numpy array (bfloat16 needs ml_dtypes).")
      .def("torch", &as_torch, "Returns the same memory as a torch tensor.")
      .def("__len__", [](const CacheView& view) { return view.view.shape[0]; })
      .def("__repr__", [](const CacheView& view) {
        return "CacheView(shape=" + shape_text(view.view.shape) + ", dtype=" + type_name(view.view.type) + ")";
      });

  nb::class_<KvCache>(m, "KvCache", kCacheDoc)
      .def(
          "__init__",
          [](KvCache* self, std::int64_t batch, std::int64_t heads, std::int64_t width,
             std::optional<std::int64_t> value_width, std::int64_t max_tokens, nb::handle dtype) {
            if (value_width && *value_width < 1) throw nb::value_error("value_width must be at least 1");
            new (self) KvCache({batch, heads, width, value_width.value_or(0), max_tokens, type_of_name(dtype)});
          },
          "batch"_a, "heads"_a, "width"_a, "value_width"_a = nb::none(), "max_tokens"_a = 1 << 20,
          "dtype"_a = "float32")
      .def("append", &append, "k"_a.none(), "v"_a.none(),
           "Appends k [B, G, n, D] and v [B, G, n, E], converted to the cache's dtype.")
      .def("truncate", &KvCache::truncate, "tokens"_a, "Drops all but the first tokens.")
      .def("__len__", &KvCache::size)
      .def_prop_ro("k", &keys, "CacheView [B, G, len, D] of the keys so far.")
      .def_prop_ro("v", &values, "CacheView [B, G, len, E] of the values so far.")
      .def_prop_ro("dtype", [](const KvCache& cache) { return type_name(cache.config().type); })
      .def_prop_ro("max_tokens", [](const KvCache& cache) { return cache.config().max_tokens; })
      .def("__repr__", [](const KvCache& cache) {
        return "KvCache(k=" + shape_text(cache.k().shape) + ", v=" + shape_text(cache.v().shape) +
               ", dtype=" + type_name(cache.config().type) + ")";
      });
}

}  // namespace attn::python
