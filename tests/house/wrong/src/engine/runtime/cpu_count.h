// A header of the engine. See includes.cmake.
#pragma once

#include <hwy/highway.h>
