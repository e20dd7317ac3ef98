// python/scope/names.h - small things between C++ and Python.
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

// A str. Bytes that are not UTF-8 (a part of a character) become U+FFFD.
nb::str text_of(std::string_view text);

// A numpy array [rows, columns] that has the numbers; copied.
nb::object array_of(const nn::Matrix& table);
nb::object array_of(std::span<const float> numbers);

// The numbers of an array [rows, columns] of any float type; `name` is the parameter's, for messages.
nn::Matrix copied(nb::handle array, const char* name);

// "self", "decoder", "cross"; std::invalid_argument for anything else.
model::Kind parse_kind(const std::string& name);

// Of a kind that the recording has, if one is named.
std::optional<insight::Kind> kind_of(const Recording& recording, const std::optional<std::string>& name);

}  // namespace attn::python
