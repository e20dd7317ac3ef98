// python/scope/models.h - models for Python.
#pragma once

#include <nanobind/nanobind.h>

#include <mutex>
#include <string>
#include <utility>

#include "attn/thread_pool.h"
#include "model/recording/recording.h"
#include "nn/infer/matrix.h"

namespace attn::python {

// Thread-safe.
class Model {
 public:
  Model(model::Reader loaded, std::string given) : reader(std::move(loaded)), name(std::move(given)) {}

  // insight::induction_scores(), computed once: they depend on the model only.
  const nn::Matrix& induction(ThreadPool& pool);

  const model::Reader reader;
  const std::string name;  // as passed to load()

 private:
  std::once_flag asked_;
  nn::Matrix induction_;
};

// The text of an id, on one line.
nanobind::str word_of(const Model& model, std::int32_t id);

void bind_models(nanobind::module_& m);

}  // namespace attn::python
