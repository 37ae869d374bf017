// Numbers from 0 to 1 as colours whose brightness rises steadily, so that their order can be read
// in grey print as well.
#pragma once

#include "image/ops/crop.h"

namespace cait {

// Dark violet over red to pale yellow.
Colour heat_colour(double value);

// Cividis (Nuñez, Anderton and Renslow 2018): dark blue over grey to yellow, the same to people who
// tell few colours apart. The thesis's saliency maps are shown in it.
Colour cividis_colour(double value);

// Blue for -1 over white to red for 1: numbers with a sign.
Colour signed_colour(double value);

}  // namespace cait
