// python/scope/recordings.h - AttentionTables of any origin with their name, as Python holds them.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "insight/tables/attention_tables.h"
#include "insight/tables/view_options.h"

namespace attn::python {

namespace nb = nanobind;

// The package's class Recording holds one of these as `_held`. Immutable; shared, not copied. To make a new one,
// construct this struct and return it.
struct Recording {
  std::shared_ptr<const insight::AttentionTables> tables;
  std::string name;                // of the model, or of the file; may be empty
  insight::ViewOptions view = {};  // how `tables` differ from what was recorded

  // Throws std::invalid_argument with the name of the caller, such as "find()", unless the numbers are attention
  // weights.
  [[nodiscard]] const insight::AttentionTables& weights(const char* asking) const;

  // Throws std::invalid_argument with the name of the caller, such as "save()", unless this is a model's recording.
  [[nodiscard]] const model::Recording& recorded(const char* asking) const;
};

// Copies arrays [L, H, N, M], whose layers follow one another; leading axes may be missing. Throws
// std::invalid_argument if the shapes do not fit together.
insight::InMemoryTables::Tables read_tables(const nb::list& layers);

void bind_recordings(nb::module_& m);

}  // namespace attn::python
