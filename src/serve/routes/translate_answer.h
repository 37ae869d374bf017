// What POST /translate answers: JSON, or a line for each line.
#pragma once

#include <cstdint>

#include "serve/engine/served_model.h"
#include "serve/engine/translation_work.h"
#include "serve/http/message.h"

namespace cait::serve {

// Bytes of the JSON, nearly at most: known before anything is translated.
std::uint64_t translations_bytes(const TranslationWork& work);

// {"model", "version", "source", "target", "pieces": how they make words,
//  "translations": [{"text", "score", "pieces", "piece_scores", "source_pieces" and "attention"
//  where it was asked for, "others": where there are more, the same of them}]}
Response translations_json(const ServedModel& model, const TranslationWork& work);

// The best translation of each line.
Response translations_text(const TranslationWork& work);

}  // namespace cait::serve
