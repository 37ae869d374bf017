// The answer to an inference request: JSON, and after it the bytes of the outputs that were asked
// for in binary form.
#pragma once

#include <map>
#include <string>

#include "cait/tensor.h"
#include "serve/engine/served_model.h"
#include "serve/http/message.h"
#include "serve/protocol/infer_request.h"

namespace cait::serve {

// Bytes of the answer, at most or nearly so: known before anything is computed.
std::uint64_t answer_bytes(const InferRequest& request, const ServedModel& model,
                           std::uint64_t images);

// Throws where an output is not finite: HttpError(400) where values that were sent are so large
// that they are to blame, Error otherwise.
Response infer_response(const InferRequest& request, const ServedModel& model,
                        const std::map<std::string, Tensor>& outputs);

}  // namespace cait::serve
