// course/registry.h - what each lesson computes: lessons/NAME/compute.cc, as the build has found them.
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
