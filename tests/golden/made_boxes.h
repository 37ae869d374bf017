// Inputs of make_regions.py and make_detections.py: numbers() and boxes() of those scripts, bit for
// bit.
#pragma once

#include <string_view>
#include <vector>

#include "golden/pattern.h"

namespace cait::golden {

inline std::vector<float> made_numbers(std::string_view name, std::size_t count, double scale = 1) {
    std::vector<float> values;
    for (std::size_t i = 0; i < count; ++i)
        values.push_back(float(uniform(hash_of(name), i) * scale));
    return values;
}

// (count, 4): left, top, right, bottom. Centres lie within width x height.
inline std::vector<float> made_boxes(std::string_view name, std::size_t count, double width,
                                     double height, double largest) {
    std::vector<float> boxes;
    for (std::size_t i = 0; i < count; ++i) {
        double u[4];
        for (std::size_t k = 0; k < 4; ++k) u[k] = (uniform(hash_of(name), 4 * i + k) + 1) / 2;
        const double x = u[0] * width, y = u[1] * height;
        const double w = u[2] * largest + 1, h = u[3] * largest + 1;
        boxes.insert(boxes.end(),
                     {float(x - w / 2), float(y - h / 2), float(x + w / 2), float(y + h / 2)});
    }
    return boxes;
}

}  // namespace cait::golden
