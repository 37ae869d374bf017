// The part of an index file that changes vectors before they are compared: PCA, OPQ and other
// matrices, lengths of 1, other numbers of components.
#pragma once

#include <cstddef>

#include "evaluate/index/index_fields.h"

namespace cait {

// The whole chain, for queries of `columns` numbers. Returns how many numbers leave it.
std::size_t check_transforms(IndexFields& fields, std::size_t columns);

}  // namespace cait
