// The part of an index file that links vectors for a search from one to the next (HNSW).
#pragma once

#include <cstddef>

#include "evaluate/index/index_fields.h"

namespace cait {

void check_links(IndexFields& fields, std::size_t rows);

}  // namespace cait
