// Names and colours of the classes of a model that segments or detects, one for each, also where
// its file has none.
#pragma once

#include <string>
#include <vector>

#include "cait/model.h"
#include "image/ops/crop.h"
#include "models/task.h"

namespace cait {

struct SegmentClasses {
    std::vector<std::string> names;
    std::vector<Colour> colours;
};

SegmentClasses segment_classes(const Model& model, std::size_t count);

inline bool segments(const Model& model) { return model.task().name == kSegment; }
inline bool detects(const Model& model) { return model.task().name == kDetect; }

}  // namespace cait
