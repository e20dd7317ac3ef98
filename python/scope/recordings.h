// python/scope/recordings.h - what Python looks at: a specimen of any origin, and what it is called.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "insight/tables/attention_tables.h"
#include "insight/tables/view_options.h"

namespace attn::python {

namespace nb = nanobind;

// The package's class Recording holds one of these as `_held`. A new one is made by constructing this struct and
// returning it; it is shared, never copied, and never changes.
struct Recording {
  std::shared_ptr<const insight::AttentionTables> tables;
  std::string name;                // of the model, or of the file; may be empty
  insight::ViewOptions view = {};  // how `tables` differ from what was recorded

  // Throws std::invalid_argument, with who asks for it (as "find()"), where its numbers are not weights of attention.
  [[nodiscard]] const insight::AttentionTables& weights(const char* asking) const;

  // Throws std::invalid_argument, with who asks for it (as "save()"), where it is no reading of a model.
  [[nodiscard]] const model::Recording& recorded(const char* asking) const;
};

// Arrays [L, H, N, M], whose layers follow one another; axes in front may be missing. The numbers are copied. Throws
// std::invalid_argument where they do not fit together.
insight::InMemoryTables::Tables read_tables(const nb::list& layers);

void bind_recordings(nb::module_& m);

}  // namespace attn::python
