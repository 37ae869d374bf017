#include "kernels/chunks.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

namespace cait::kernels {

namespace {

// Rows of a chunk. A backward pass holds about seven matrices of them at once: with 192 columns,
// 256 rows fill 1.4 MiB, more than half of the processors' second-level caches have.
constexpr Index kManyChunkRows = 256, kFewChunkRows = 128;
constexpr Index kLargeCache = 1 << 20;

Index chunk_rows() {
    static const Index kRows = [] {
        const long cache = ::sysconf(_SC_LEVEL2_CACHE_SIZE);  // 0 where it is unknown
        return cache > 0 && cache < kLargeCache ? kFewChunkRows : kManyChunkRows;
    }();
    return kRows;
}

constexpr Index kChunkFloats = 1 << 16;  // of one [rows, dim] matrix
constexpr Index kGroups = 4;
constexpr Index kSumFloats = 1 << 24;  // of all groups
constexpr Index kLeastChunkRows = 16;  // of a part of an image
constexpr Index kTileRows = 4;         // of a product at least: parts are whole tiles, and alike

}  // namespace

Chunks::Chunks(const ChunkOptions& o, Buffer& list)
    : options_(o), active_(reinterpret_cast<Index*>(list.grow(o.batch * Index(sizeof(Index))))) {
    for (Index i = 0; i < o.batch; ++i)
        if (o.factors == nullptr || o.factors[i] != 0) active_[active_count_++] = i;
    const Index threads = std::max(1, o.threads), tokens = std::max<Index>(1, o.tokens);
    if (!o.whole_images && active_count_ > 0 && active_count_ < threads)
        parts_ = std::min((threads + active_count_ - 1) / active_count_,
                          (tokens + kLeastChunkRows - 1) / kLeastChunkRows);
    piece_rows_ = parts_ == 1 ? tokens : round_up((tokens + parts_ - 1) / parts_, kTileRows);
    parts_ = (tokens + piece_rows_ - 1) / piece_rows_;
    if (parts_ == 1) {
        const Index rows = std::min(chunk_rows(), kChunkFloats / std::max<Index>(1, o.dim));
        pieces_ = std::max<Index>(1, rows / tokens);
        pieces_ = std::min(pieces_, std::max<Index>(1, (active_count_ + threads - 1) / threads));
    }
    count_ = (active_count_ * parts_ + pieces_ - 1) / pieces_;
    const Index fitting = std::min(kGroups, kSumFloats / std::max<Index>(1, o.sum_floats));
    groups_ = std::max<Index>(1, std::min(count_, std::max(threads, fitting)));
    workers_ = int(std::max<Index>(1, std::min(threads, o.sum_floats > 0 ? groups_ : count_)));
}

void Chunks::for_chunks(FunctionRef<void(Index, int)> work) const {
    std::atomic<Index> next = 0;
    run_workers(workers_, [&](int worker) {
        for (Index chunk = next++; chunk < count_; chunk = next++) work(chunk, worker);
    });
}

void Chunks::for_groups(FunctionRef<void(Index, int)> start,
                        FunctionRef<void(Index, Index, int)> work) const {
    std::atomic<Index> next = 0;
    run_workers(workers_, [&](int worker) {
        for (Index group = next++; group < groups_; group = next++) {
            start(group, worker);
            const Share chunks = share_of(count_, int(group), int(groups_));
            for (Index chunk = chunks.begin; chunk < chunks.end; ++chunk)
                work(group, chunk, worker);
        }
    });
}

Share Chunks::pieces_of(Index chunk) const {
    return {chunk * pieces_, std::min(active_count_ * parts_, (chunk + 1) * pieces_)};
}

Piece Chunks::piece(Index number) const {
    const Index position = number / parts_, row = number % parts_ * piece_rows_;
    return {active_[position], row, std::min(piece_rows_, options_.tokens - row),
            position * options_.tokens + row};
}

Index Chunks::rows_of(Share pieces) const {
    Index rows = 0;
    for (Index p = pieces.begin; p < pieces.end; ++p) rows += piece(p).rows;
    return rows;
}

}  // namespace cait::kernels
