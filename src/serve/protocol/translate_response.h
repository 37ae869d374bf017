// Translations as outputs of the protocol: a text for each line, and its score.
#pragma once

#include <vector>

#include "cait/translator.h"
#include "serve/engine/translation_work.h"
#include "serve/protocol/infer_request.h"

namespace cait::serve {

// Bytes of the answer, nearly at most: known before anything is translated.
std::uint64_t translate_answer_bytes(const InferRequest& request, const ServedModel& model,
                                     const TranslationWork& work);

// Of each line the best one.
Response translate_response(const InferRequest& request, const ServedModel& model,
                            const std::vector<std::vector<Translation>>& found);

}  // namespace cait::serve
