// What files of fairseq's translators have in another form than our parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weights/weight_file.h"

namespace cait {

// The same tensors in our form: queries, keys and values that old files stack in one in_proj_weight
// and in_proj_bias taken apart; the table of pieces, which is there for sources, for targets and
// for the output, once; versions, places of position embeddings and copies of layers, which hold
// nothing of their own, left out. Throws Error, naming `path`, where the tables differ: our models
// share one.
WeightFile from_fairseq(WeightFile file, const std::string& path);

// Appends what fairseq's code wants beside the weights under its names: the table again for targets
// and output, and the version of the form of both sides.
void add_for_fairseq(std::vector<NamedTensor>& tensors);

// How many pieces the table in the file has; none where there is no table.
std::optional<std::int64_t> pieces_in(const WeightFile& file);

}  // namespace cait
