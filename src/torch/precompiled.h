// Parsed once for all files of this folder and its tests: it takes about 24 s.
#pragma once

#include <torch/torch.h>
