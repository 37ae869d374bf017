// One step of generation: the next piece of every hypothesis from the last one, with what earlier
// steps left behind. Hypotheses are the token axis, so that the keys and values of a sentence are
// shared by its beam.
#pragma once

#include "base/text_size.h"
#include "models/translate_layers.h"

namespace cait {

// Inputs: piece [B, K] and place [B, 1], int64; source_mask [B, T], which training's graph has,
// too; of decoder layer N cross_keys.N, cross_values.N [B, T, D] and the state: of resmlp past.N
// [B, K, P, D], of attention past_keys.N and past_values.N with past_mask [B, P]. Taps: step_logits
// [B, K, V], step_output [B, K, D], of which the table of pieces makes them, step_cross_attention.N
// [B, H, K, T], and what the caller keeps at `place`: present.N, or present_keys.N and
// present_values.N [B, K, D].
void record_step(const TranslateModel& m, const TextSize& size, Value source_mask);

}  // namespace cait
