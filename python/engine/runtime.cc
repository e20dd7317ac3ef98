#include "python/engine/runtime.h"

#include <mutex>
#include <utility>
#include <vector>

namespace attn::python {
namespace {

nb::object stolen(PyObject* x) {
  if (x == nullptr) throw nb::python_error();
  return nb::steal(x);
}

// Never released, so that nothing is freed after the interpreter has exited.
PyObject* kept(nb::object x) { return x.release().ptr(); }

PyObject* loaded(const char* module) {
  PyObject* modules = PyImport_GetModuleDict();  // borrowed
  return modules == nullptr ? nullptr : PyDict_GetItemString(modules, module);
}

Numpy look_up_numpy(nb::handle module) {
  const auto type = [&](const char* name) { return kept(module.attr("dtype")(name)); };
  return {reinterpret_cast<PyTypeObject*>(kept(module.attr("ndarray"))),
          kept(module.attr("empty")),
          kept(module.attr("from_dlpack")),
          kept(module.attr("ascontiguousarray")),
          type("float32"),
          type("float16"),
          type("bool"),
          type("uint16")};
}

Torch look_up_torch(nb::handle module) {
  auto* const tensor = reinterpret_cast<PyTypeObject*>(kept(module.attr("Tensor")));
  return {tensor,
          describe_tensor_of(tensor),
          kept(module.attr("empty")),
          kept(nb::make_tuple("dtype", "device")),
          kept(module.attr("empty_like")),
          kept(module.attr("device")("cpu")),
          kept(module.attr("float32")),
          kept(module.attr("float16")),
          kept(module.attr("bfloat16")),
          kept(module.attr("strided"))};
}

Numpy* known_numpy = nullptr;
Torch* known_torch = nullptr;

struct Pool {
  std::mutex mutex;
  int wanted = 0;               // 0: the default
  int (*followed)() = nullptr;  // null: this module has its own number
  std::shared_ptr<ThreadPool> threads;
  std::vector<std::shared_ptr<ThreadPool>>
      forgotten;  // pools of a forked child: destroying one would wait for threads that do not exist
};

const char* const kThreadCountName = "thread_count";
struct ThreadCount {
  int (*asked)();
};

// Never destroyed: worker threads sleep until the process exits, so there is no order of destruction to get wrong.
Pool& the_pool() {
  static auto* const pool = new Pool;
  return *pool;
}

}  // namespace

nb::object Name::of(nb::handle x) const { return stolen(PyObject_GetAttr(x.ptr(), text_)); }

nb::object Name::call(nb::handle x) const {
  PyObject* args[] = {x.ptr()};
  return stolen(PyObject_VectorcallMethod(text_, args, 1, nullptr));
}

nb::object Name::call(nb::handle x, nb::handle arg) const {
  PyObject* args[] = {x.ptr(), arg.ptr()};
  return stolen(PyObject_VectorcallMethod(text_, args, 2, nullptr));
}

const Numpy* numpy_if_imported() {
  if (known_numpy == nullptr) {
    PyObject* module = loaded("numpy");
    if (module != nullptr && nb::hasattr(module, "from_dlpack")) known_numpy = new Numpy(look_up_numpy(module));
  }
  return known_numpy;
}

const Numpy& numpy_now() {
  if (known_numpy == nullptr) known_numpy = new Numpy(look_up_numpy(nb::module_::import_("numpy")));
  return *known_numpy;
}

const Torch* torch_if_imported() {
  if (known_torch == nullptr) {
    PyObject* module = loaded("torch");
    if (module != nullptr && nb::hasattr(module, "Tensor")) known_torch = new Torch(look_up_torch(module));
  }
  return known_torch;
}

const Torch& torch_now() {
  if (known_torch == nullptr) known_torch = new Torch(look_up_torch(nb::module_::import_("torch")));
  return *known_torch;
}

std::shared_ptr<ThreadPool> pool() {
  Pool& p = the_pool();
  std::shared_ptr<ThreadPool> replaced;  // destroyed outside of the lock
  const std::lock_guard lock(p.mutex);
  if (p.followed != nullptr && p.followed() != p.wanted) {
    p.wanted = p.followed();
    replaced = std::move(p.threads);
  }
  if (p.threads == nullptr) p.threads = std::make_shared<ThreadPool>(p.wanted);
  return p.threads;
}

void replace_pool(int threads) {
  auto fresh = std::make_shared<ThreadPool>(threads);
  Pool& p = the_pool();
  const std::lock_guard lock(p.mutex);
  p.wanted = threads;
  p.threads.swap(fresh);
}

void offer_thread_count(nb::module_& module) {
  static constexpr ThreadCount kCount{[] {
    Pool& p = the_pool();
    const std::lock_guard lock(p.mutex);
    return p.wanted;
  }};
  module.attr(kThreadCountName) = nb::capsule(&kCount, kThreadCountName);
}

void follow_thread_count(nb::handle of_module) {
  const nb::object offered = of_module.attr(kThreadCountName);
  const auto* count = static_cast<const ThreadCount*>(PyCapsule_GetPointer(offered.ptr(), kThreadCountName));
  if (count == nullptr) throw nb::python_error();
  the_pool().followed = count->asked;
}

void forget_pool() {
  Pool& p = the_pool();
  const std::lock_guard lock(p.mutex);
  p.forgotten.push_back(std::move(p.threads));
}

}  // namespace attn::python
