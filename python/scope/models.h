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

// Any number of threads may use one.
class Model {
 public:
  Model(model::Reader loaded, std::string given) : reader(std::move(loaded)), name(std::move(given)) {}

  // insight::induction_scores(): asked once, since they are the model's alone.
  const nn::Matrix& induction(ThreadPool& pool);

  const model::Reader reader;
  const std::string name;  // as the user gave it

 private:
  std::once_flag asked_;
  nn::Matrix induction_;
};

// What an id says, on one line.
nanobind::str word_of(const Model& model, std::int32_t id);

void bind_models(nanobind::module_& m);

}  // namespace attn::python
