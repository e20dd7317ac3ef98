// course/registry.h - the function of each lesson, from lessons/NAME/compute.cc; the build generates the list.
#pragma once

#include <span>

#include "course/course.h"

namespace attn::course {

struct RegisteredLesson {
  const char* name;
  Compute compute;
};

// In the order of the course.
std::span<const RegisteredLesson> registry();

}  // namespace attn::course
