// A layer with paths that do not exist.
#include "../layer.h"

#include "not/there.h"
