// What a detector finds as outputs of the protocol: tensors of a fixed number of objects for each
// image, of which the first `counts` are there.
#pragma once

#include <span>
#include <vector>

#include "evaluate/detect_image.h"
#include "serve/protocol/infer_request.h"

namespace cait::serve {

// Bytes of the answer, at most: known before anything is computed.
std::uint64_t detect_answer_bytes(const InferRequest& request, const ServedModel& model,
                                  std::uint64_t images);

// boxes [N, most, 4] and scores [N, most] are padded with 0, labels with -1, masks (COCO's text)
// with nothing.
Response detect_response(const InferRequest& request, const ServedModel& model,
                         std::span<const std::vector<DetectedObject>> found);

}  // namespace cait::serve
