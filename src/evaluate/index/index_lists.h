// The parts of an index file that spread vectors over lists (IVF), and the numbers of their rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "evaluate/index/index_fields.h"

namespace cait {

// Sees the number of every row once.
class RowsOnce {
public:
    // `rows` numbers of 8 bytes still have to come, or it fails.
    RowsOnce(const IndexFields& fields, std::size_t rows);
    void see(std::int64_t row);  // fails for one that is out of range or was seen before

private:
    const IndexFields& fields_;
    std::vector<bool> seen_;
};

struct ListSizes {
    std::size_t rows = 0;
    std::size_t lists = 0;
};

// Where each row is stored, list << 32 | place, where the file says so; empty where it does not.
StoredArray<std::int64_t> take_direct_map(IndexFields& fields, const ListSizes& sizes);

// `floats`: codes are vectors, which must be finite.
void check_inverted_lists(IndexFields& fields, const ListSizes& sizes, std::size_t code_size,
                          bool floats, const StoredArray<std::int64_t>& direct_map);

}  // namespace cait
