#include "python/engine/exchange.h"

#include <cstdint>

namespace attn::python {
namespace {

// The function table as laid out in dlpack.h 1.x; only one of its functions is used.
struct DlpackExchangeTable {
  std::uint32_t major, minor;
  DlpackExchangeTable* older;
  void (*allocate)();
  void (*own)();
  void (*give)();
  DescribeTensor describe;
};

}  // namespace

DescribeTensor describe_tensor_of(PyTypeObject* type) {
  const nanobind::handle tensor(reinterpret_cast<PyObject*>(type));
  const nanobind::object capsule = nanobind::getattr(tensor, "__dlpack_c_exchange_api__", nanobind::none());
  if (PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api") == 0) return nullptr;
  const auto* table =
      static_cast<const DlpackExchangeTable*>(PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  while (table != nullptr && table->major > 1) table = table->older;
  return table == nullptr || table->major != 1 ? nullptr : table->describe;
}

}  // namespace attn::python
