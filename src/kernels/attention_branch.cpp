// Whole images stay with one thread. With fewer images than threads the rows are shared out twice:
// to project q, k and v, and, when all of them are there, to attend and project the result.
#include "kernels/attention_branch.h"

#include <algorithm>

#include "kernels/operand.h"

namespace cait::kernels {

namespace {

// What one worker needs for a chunk.
struct AttentionMemory {
    MutableRows normed, qkv;
    MutableRows mixed;   // attention's result
    MutableRows staged;  // the same as the projection reads it
    std::byte *attention, *scratch;
    Segment* segments;

    AttentionMemory(const AttentionBranch& b, const Chunks& chunks, Arena& arena)
        : normed(arena.rows(b.format, chunks.most_rows(), b.dim)),
          qkv(qkv_rows(b,
                       arena.take(chunks.most_rows() * 3 * b.dim * size_of(companion(b.format))))),
          mixed(arena.rows(companion(b.format), chunks.most_rows(), b.dim)),
          staged(mixed.format == b.format ? mixed
                                          : arena.rows(b.format, chunks.most_rows(), b.dim)),
          attention(arena.take(attention_workspace(b.attention))),
          scratch(arena.take(product_scratch(b.dim))),
          segments(reinterpret_cast<Segment*>(
              arena.take(chunks.most_pieces() * Index(sizeof(Segment))))) {}
};

class AttentionForward {
public:
    // `all_qkv`: q, k and v of all active images; empty when each worker has room for its own.
    AttentionForward(const AttentionBranch& branch, const Chunks& chunks, const float* x, float* y,
                     const MutableRows& all_qkv, const MutableRows& all_mixed)
        : b_(branch), chunks_(chunks), x_(x), y_(y), all_qkv_(all_qkv), all_mixed_(all_mixed) {}

    void project(Share pieces, const AttentionMemory& m) const {
        norm_chunk(b_, chunks_, pieces, x_, m.normed);
        const Epilogue plain{.bias = b_.bias_qkv, .out = rows_of_pieces(all_qkv_, m.qkv, pieces)};
        timed(b_.profile, Part::gemm, [&] {
            products_.multiply({.m = chunks_.rows_of(pieces),
                                .n = 3 * b_.dim,
                                .k = b_.dim,
                                .a = lhs_of(m.normed),
                                .b = b_.weight_qkv,
                                .epilogue = &plain,
                                .scratch = m.scratch});
        });
    }

    void attend(Share pieces, const AttentionMemory& m) const {
        const MutableRows mixed = rows_of_pieces(all_mixed_, m.mixed, pieces);
        const Index rows = chunks_.rows_of(pieces);
        timed(b_.profile, Part::attention, [&] {
            clear_padding(mixed, rows, b_.dim);
            MutableRows to = mixed, own = m.qkv;
            for (Index p = pieces.begin; p < pieces.end; ++p) {
                const Piece piece = chunks_.piece(p);
                const Rows image = all_qkv_ ? all_qkv_.from(piece.kept - piece.row) : own;
                AttentionShape shape = b_.attention;
                shape.queries = piece.rows;
                attention_forward(shape, image.from(piece.row), image.from(0, b_.dim),
                                  image.from(0, 2 * b_.dim), to, m.attention);
                to = to.from(piece.rows);
                own = own.from(piece.rows);
            }
        });
        if (m.staged.format != mixed.format)
            timed(b_.profile, Part::norm,
                  [&] { best_kernels().stage(mixed, rows, b_.dim, 1, m.staged); });
        fill_segments(b_, chunks_, pieces, x_, y_, m.segments);
        const Epilogue residual{.bias = b_.bias_proj,
                                .segments = m.segments,
                                .segment_rows = chunks_.piece_rows(),
                                .segment_ld = b_.dim,
                                .gain = b_.gain};
        timed(b_.profile, Part::gemm, [&] {
            products_.multiply({.m = rows,
                                .n = b_.dim,
                                .k = b_.dim,
                                .a = lhs_of(m.staged.format == mixed.format ? mixed : m.staged),
                                .b = b_.weight_proj,
                                .epilogue = &residual,
                                .scratch = m.scratch});
        });
    }

private:
    MutableRows rows_of_pieces(const MutableRows& all, const MutableRows& own, Share pieces) const {
        return all ? all.from(chunks_.piece(pieces.begin).kept) : own;
    }

    const AttentionBranch& b_;
    const ProductKernels& products_ = products(b_.format);
    const Chunks& chunks_;
    const float* x_;
    float* y_;
    MutableRows all_qkv_, all_mixed_;
};

Index active_images(const BranchOptions& b) {
    return b.factors == nullptr ? b.batch : b.batch - std::count(b.factors, b.factors + b.batch, 0);
}

}  // namespace

Index kept_qkv(const BranchOptions& b) { return b.batch * b.tokens * 3 * b.dim; }
Index kept_mixed(const BranchOptions& b) {
    return lhs_bytes(b.format, b.batch * b.tokens + 16, b.dim) / size_of(b.format);
}
MutableRows qkv_rows(const BranchOptions& b, void* kept) {
    return {kept, companion(b.format), 3 * b.dim};
}
MutableRows mixed_rows(const BranchOptions& b, void* kept) {
    return {kept, b.format, lhs_ld(b.format, b.dim)};
}

void attention_branch_forward(const AttentionBranch& b, const float* x, float* y,
                              const AttentionKept& kept, Workspace& workspace) {
    const bool whole = active_images(b) >= b.threads;
    const Chunks chunks({b.batch, b.tokens, b.dim, b.factors, b.threads, 0, whole}, workspace.list);
    const bool shares_qkv = !whole && kept.qkv == nullptr;
    const PerWorker memory(
        workspace.memory, chunks.workers(),
        [&](Arena& arena) { return AttentionMemory(b, chunks, arena); },
        shares_qkv ? kept_qkv(b) * size_of(companion(b.format)) : 0);
    const AttentionForward forward(b, chunks, x, y,
                                   qkv_rows(b, shares_qkv ? memory.shared() : kept.qkv),
                                   mixed_rows(b, kept.mixed));
    if (whole) {
        chunks.for_chunks([&](Index chunk, int worker) {
            forward.project(chunks.pieces_of(chunk), memory(worker));
            forward.attend(chunks.pieces_of(chunk), memory(worker));
        });
    } else {
        chunks.for_chunks([&](Index chunk, int worker) {
            forward.project(chunks.pieces_of(chunk), memory(worker));
        });
        chunks.for_chunks([&](Index chunk, int worker) {
            forward.attend(chunks.pieces_of(chunk), memory(worker));
        });
    }
    copy_dropped(b, x, y);
}

}  // namespace cait::kernels
