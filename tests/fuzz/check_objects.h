// What must hold of every data set of objects, whatever its files were.
#pragma once

#include <cstdlib>
#include <functional>

#include "cait/error.h"
#include "data/dataset.h"

namespace cait {

inline void check_object(const Object& object, const Dataset& dataset) {
    const auto& [left, top, right, bottom] = object.box;
    if (object.label < 0 || std::size_t(object.label) >= dataset.classes().size()) std::abort();
    if (!(right > left && bottom > top)) std::abort();
    const RunMask& runs = object.mask.runs;
    if (!runs.runs.empty() && object_mask(object, runs.width, runs.height) != runs) std::abort();
}

inline void check_objects(const std::function<DatasetPtr()>& open) {
    try {
        const DatasetPtr dataset = open();
        for (std::size_t i = 0; i < dataset->size(); ++i) {
            const std::vector<Object> objects = dataset->objects(i);
            if (objects.size() > kMostObjects) std::abort();
            for (const Object& object : objects) check_object(object, *dataset);
            dataset->image_number(i);
        }
        if (dataset->class_numbers().size() != dataset->classes().size()) std::abort();
    } catch (const Error&) {
    }
}

}  // namespace cait
