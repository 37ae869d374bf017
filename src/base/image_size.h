// ImageSize, which the public headers have.
#pragma once

#include "cait/image_size.h"  // IWYU pragma: export
