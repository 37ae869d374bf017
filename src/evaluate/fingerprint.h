// Tells two models apart without reading them whole: an index made by one is no use to another.
#pragma once

#include <string>

#include "cait/model.h"

namespace cait {

// SHA-256, as hex digits, of the settings, of how images are prepared, and of some hundred values
// of each weight: training changes all of them.
std::string model_fingerprint(const Model& model);

}  // namespace cait
