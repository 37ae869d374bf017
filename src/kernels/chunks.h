// Which rows of a batch are computed together: a few images at a time, so that everything between
// two products stays in a core's second-level cache, or parts of an image when there are fewer
// images than threads. Images whose branch is dropped are left out altogether.
#pragma once

#include "kernels/parallel.h"
#include "kernels/workspace.h"

namespace cait::kernels {

struct ChunkOptions {
    Index batch = 0;
    Index tokens = 0;
    Index dim = 0;
    const float* factors = nullptr;  // [batch], null for 1: stochastic depth; 0 drops an image
    int threads = 1;
    Index sum_floats = 0;       // that one group adds up, for a backward pass
    bool whole_images = false;  // no image is cut
};

// Rows of one image.
struct Piece {
    Index image = 0;
    Index row = 0;  // of the image
    Index rows = 0;
    Index kept = 0;  // first row among those of the active images
};

// Chunks are handed out as threads become free. Sums over images are made per group of chunks, and
// groups do not depend on who computes them: the result is the same bits however busy the machine
// is.
class Chunks {
public:
    // The list of active images lies in `list`, which must stay as it is.
    Chunks(const ChunkOptions& options, Buffer& list);

    Index most_rows() const { return pieces_ * piece_rows_; }  // of a chunk
    Index most_pieces() const { return pieces_; }
    Index piece_rows() const { return piece_rows_; }  // all but the last of an image have as many
    Index active() const { return active_count_; }

    Share pieces_of(Index chunk) const;
    Piece piece(Index number) const;
    Index rows_of(Share pieces) const;

    int workers() const { return workers_; }
    Index groups() const { return groups_; }
    // Calls work(chunk, worker) for all chunks; no two calls of one worker run at the same time.
    void for_chunks(FunctionRef<void(Index, int)> work) const;
    // The same by groups: start(group, worker), then work(group, chunk, worker) for its chunks.
    void for_groups(FunctionRef<void(Index, int)> start,
                    FunctionRef<void(Index, Index, int)> work) const;

private:
    ChunkOptions options_;
    Index* active_;
    Index active_count_ = 0;
    Index parts_ = 1;  // of an image
    Index piece_rows_ = 0;
    Index pieces_ = 1;  // of a chunk
    Index count_ = 0;   // of chunks
    Index groups_ = 1;
    int workers_ = 1;
};

}  // namespace cait::kernels
