#include "kernels/mlp_branch.h"

#include <algorithm>

#include "kernels/operand.h"

namespace cait::kernels {

namespace {

// What one worker needs for a chunk.
struct MlpMemory {
    MutableRows normed;
    MutableRows after;   // GELU's result
    MutableRows hidden;  // the same as fc2 reads it
    float* sums;         // [rows, dim]
    void* scratch;
    Segment* segments;

    MlpMemory(const MlpBranch& b, const Chunks& chunks, Arena& arena)
        : normed(arena.rows(b.format, chunks.most_rows(), b.dim)),
          after(arena.rows(companion(b.format), chunks.most_rows(), hidden_slice(b.format))),
          hidden(after.format == b.format
                     ? after
                     : arena.rows(b.format, chunks.most_rows(), hidden_slice(b.format))),
          sums(arena.floats(chunks.most_rows() * b.dim)),
          scratch(arena.take(product_scratch(std::max(b.dim, hidden_slice(b.format))))),
          segments(reinterpret_cast<Segment*>(
              arena.take(chunks.most_pieces() * Index(sizeof(Segment))))) {}
};

class MlpForward {
public:
    MlpForward(const MlpBranch& branch, const Chunks& chunks, const float* x, float* y, void* kept)
        : b_(branch), chunks_(chunks), x_(x), y_(y), kept_(kept) {}

    void run_chunk(Share pieces, const MlpMemory& m) {
        const Index rows = chunks_.rows_of(pieces), first = chunks_.piece(pieces.begin).kept;
        norm_chunk(b_, chunks_, pieces, x_, m.normed);
        fill_segments(b_, chunks_, pieces, x_, y_, m.segments);
        timed(b_.profile, Part::gemm, [&] {
            for (Index begin = 0; begin < b_.hidden; begin += hidden_slice(b_.format))
                slice(first, rows, begin, m);
        });
    }

private:
    void slice(Index first, Index rows, Index begin, const MlpMemory& m) {
        const Index width = std::min(hidden_slice(b_.format), b_.hidden - begin);
        Epilogue gelu{.bias = b_.bias1 == nullptr ? nullptr : b_.bias1 + begin,
                      .activation = Epilogue::Activation::gelu};
        gelu.out = m.after;
        if (kept_ != nullptr) gelu.before = kept_hidden(b_, kept_, first, rows, begin, width);
        clear_padding(m.after, rows, width);
        products_.multiply({.m = rows,
                            .n = width,
                            .k = b_.dim,
                            .a = lhs_of(m.normed),
                            .b = b_.weight1,
                            .column_begin = begin,
                            .epilogue = &gelu,
                            .scratch = m.scratch});
        if (m.hidden.format != m.after.format)
            best_kernels().stage(m.after, rows, width, 1, m.hidden);
        const Epilogue residual{.bias = b_.bias2,
                                .segments = m.segments,
                                .segment_rows = chunks_.piece_rows(),
                                .segment_ld = b_.dim,
                                .gain = b_.gain};
        products_.multiply({.m = rows,
                            .n = b_.dim,
                            .k = width,
                            .a = lhs_of(m.hidden),
                            .b = b_.weight2,
                            .k_begin = begin,
                            .c = m.sums,
                            .c_ld = b_.dim,
                            .accumulate = begin > 0,
                            .epilogue = begin + width == b_.hidden ? &residual : nullptr,
                            .scratch = m.scratch});
    }

    const MlpBranch& b_;
    const ProductKernels& products_ = products(b_.format);
    const Chunks& chunks_;
    const float* x_;
    float* y_;
    void* kept_;
};

}  // namespace

MutableRows kept_hidden(const MlpBranch& b, void* kept, Index first_row, Index rows, Index begin,
                        Index width) {
    const Index offset = first_row * b.hidden + rows * begin;
    return {static_cast<std::byte*>(kept) + offset * size_of(b.format), b.format, width};
}

void mlp_branch_forward(const MlpBranch& b, const float* x, float* y, void* kept,
                        Workspace& workspace) {
    const Chunks chunks({b.batch, b.tokens, b.dim, b.factors, b.threads, 0, false}, workspace.list);
    const PerWorker memory(workspace.memory, chunks.workers(),
                           [&](Arena& arena) { return MlpMemory(b, chunks, arena); });
    chunks.for_chunks([&](Index chunk, int worker) {
        MlpForward(b, chunks, x, y, kept).run_chunk(chunks.pieces_of(chunk), memory(worker));
    });
    copy_dropped(b, x, y);
}

}  // namespace cait::kernels
