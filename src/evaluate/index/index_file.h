// Checks the structure of an index file of FAISS before FAISS reads it. FAISS trusts its files: a
// neighbour, an id or a size that is out of range ends the program or takes all memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace cait {

struct IndexFacts {
    std::size_t rows = 0;     // vectors, numbered from 0
    std::size_t columns = 0;  // numbers of a query
    // Memory that FAISS needs beyond the size of the file.
    std::uint64_t extra_memory = 0;
};

// The kinds that are known, for messages and help.
extern const char* const kIndexKinds;

// An index by inner product as FAISS 1.7 writes it. Throws Error that opens with `name` and says
// what is wrong: an unknown kind, sizes that do not fit each other or the file, ids that are not
// those of the rows, links between vectors that are not there, numbers that are not finite.
IndexFacts check_index(std::span<const std::byte> bytes, const std::string& name);

// A row that a search came back with, all 64 bits of it. Throws Error, opening with `name`, where
// the index has no such row.
std::uint32_t checked_row(std::int64_t row, std::size_t rows, const std::string& name);

}  // namespace cait
