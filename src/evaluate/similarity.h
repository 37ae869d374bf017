// Inner products of many vectors with a collection of others, a block at a time: what both nearest
// neighbours and rankings are made of.
#pragma once

#include <cstdint>
#include <functional>

#include "evaluate/vectors.h"
#include "kernels/packed_matrix.h"

namespace cait {

// The collection, packed once for the products of this processor. Keeps a copy of the vectors.
class PackedCollection {
public:
    PackedCollection(const Vectors& collection, int threads);

    std::size_t rows() const { return std::size_t(packed_.view().columns); }

    // A block of similarities: out[q * ld + j] is that of query q and row first + j of the
    // collection, for `queries` vectors and `count` rows. `first` is a multiple of kStep. `scratch`
    // is scratch_bytes() of the caller's.
    static constexpr std::size_t kStep = 96;
    void similarities(const float* queries, std::size_t count_of_queries, std::size_t first,
                      std::size_t count, float* out, std::size_t ld, std::byte* scratch) const;
    std::size_t scratch_bytes() const;

private:
    kernels::PackedMatrix packed_;
};

// A place in a ranking as one number: larger comes first. By similarity, of equals the lower row.
inline std::uint64_t rank_key(float similarity, std::uint32_t row) {
    std::uint32_t bits = 0;
    __builtin_memcpy(&bits, &similarity, sizeof bits);
    if (bits == 0x80000000U) bits = 0;  // -0 equals 0
    const std::uint32_t ordered = (bits >> 31) != 0 ? ~bits : bits | 0x80000000U;
    return std::uint64_t(ordered) << 32 | std::uint32_t(~row);
}
inline std::uint32_t row_of_key(std::uint64_t key) { return ~std::uint32_t(key); }

// Calls work(first query, queries) for blocks of at most `most` queries, from `threads` threads.
void for_query_blocks(std::size_t queries, std::size_t most, int threads,
                      const std::function<void(std::size_t first, std::size_t count)>& work);

// Throws Error unless there is a collection, of vectors as long as the queries, and no more of
// them than a row number holds.
void check_sizes(const Vectors& queries, const Vectors& collection);

}  // namespace cait
