// What POST /detect answers: JSON or a picture, of a size that is known before.
#pragma once

#include <cstdint>
#include <span>

#include "evaluate/detect_image.h"
#include "image/evaluation_transform.h"
#include "image/image.h"
#include "serve/engine/served_model.h"
#include "serve/http/message.h"

namespace cait::serve {

enum class MaskForm {
    none,
    runs,  // COCO's compressed runs
    png,   // these, and a small picture of each
};

struct DetectAnswer {
    bool overlay = false;  // the photograph with boxes, masks and names; otherwise JSON
    MaskForm masks = MaskForm::runs;
    double threshold = 0.5;
    std::size_t most = 100;

    // Of a photograph of that size: bytes that go to the client, and that are in memory when these
    // are written, at most.
    std::uint64_t bytes(Extent photo, const ServedModel& model) const;
    std::uint64_t bytes_to_write(Extent photo, const ServedModel& model) const;

    // `photo` has its pixels only where it is to be drawn on.
    Response response(const ServedModel& model, const Image& photo,
                      std::span<const DetectedObject> found) const;
};

}  // namespace cait::serve
