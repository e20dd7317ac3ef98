// python/scope/module.cc - the extension module attnscope._scope: models, recordings, insight, figures, pages.
#include <nanobind/nanobind.h>

#include "attn/error.h"
#include "python/engine/runtime.h"
#include "python/scope/assemble.h"
#include "python/scope/figures.h"
#include "python/scope/insight.h"
#include "python/scope/models.h"
#include "python/scope/pages.h"
#include "python/scope/recordings.h"
#include "python/scope/reports.h"
#include "python/scope/work.h"

namespace attn::python {

void check_signals() {
  const nb::gil_scoped_acquire locked;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

namespace {

// attn::Error is attnscope.Error in Python.
void translate(const std::exception_ptr& thrown, void* type) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    PyErr_SetString(static_cast<PyObject*>(type), error.what());
  }
}

}  // namespace
}  // namespace attn::python

NB_MODULE(_scope, m) {
  namespace py = attn::python;
  py::follow_thread_count(nanobind::module_::import_("attnscope._attnscope"));
  if (const nanobind::module_ os = nanobind::module_::import_("os"); nanobind::hasattr(os, "register_at_fork"))
    os.attr("register_at_fork")(nanobind::arg("after_in_child") = nanobind::cpp_function(&py::forget_pool));
  nanobind::object error = nanobind::module_::import_("attnscope._errors").attr("Error");
  nanobind::register_exception_translator(py::translate, error.release().ptr());  // lives as long as the process
  py::bind_recordings(m);
  py::bind_models(m);
  py::bind_reports(m);
  py::bind_insight(m);
  py::bind_figures(m);
  py::bind_assemble(m);
  py::bind_pages(m);
}
