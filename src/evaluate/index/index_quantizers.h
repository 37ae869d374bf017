// The parts of an index file that say how vectors are made small: a number of bits for each
// component (SQ), or the nearest of some centroids for each group of components (PQ).
#pragma once

#include <cstddef>

#include "evaluate/index/index_fields.h"

namespace cait {

// Both return the bytes of a vector's code.
std::size_t check_scalar_quantizer(IndexFields& fields, std::size_t columns);
std::size_t check_product_quantizer(IndexFields& fields, std::size_t columns);

// An index of such codes, after its header.
void check_scalar_index(IndexFields& fields, std::size_t rows, std::size_t columns);
void check_product_index(IndexFields& fields, std::size_t rows, std::size_t columns);

}  // namespace cait
