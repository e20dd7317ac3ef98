// python/scope/names.h - conversions between C++ and Python: texts, arrays, kinds.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/recording/attention_log.h"
#include "nn/infer/matrix.h"
#include "python/scope/recordings.h"

namespace attn::python {

namespace nb = nanobind;

// Converts to str. Bytes that are not UTF-8 (parts of a character) become U+FFFD.
nb::str text_of(std::string_view text);

// Copies to a numpy array [rows, columns].
nb::object array_of(const nn::Matrix& table);
nb::object array_of(std::span<const float> numbers);

// Copies an array [rows, columns] of any float type; `name` is that of the parameter, for messages.
nn::Matrix copied(nb::handle array, const char* name);

// Parses "self", "decoder" or "cross"; throws std::invalid_argument for anything else.
model::Kind parse_kind(const std::string& name);

// Checks that the recording has this kind, unless it is none.
std::optional<insight::Kind> kind_of(const Recording& recording, const std::optional<std::string>& name);

}  // namespace attn::python
