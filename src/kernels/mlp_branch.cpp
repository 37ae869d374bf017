// The hidden layer is computed in slices of its width: fc1, GELU and fc2 of one slice before the
// next, so that a slice of a chunk's hidden values is all that has to stay in the cache.
#include "kernels/mlp_branch.h"

#include <algorithm>

#include "kernels/dispatch.h"

namespace cait::kernels {

namespace {

constexpr Index kSlice = 192;

struct Slices {
    Index hidden, count;
    explicit Slices(Index width) : hidden(width), count((width + kSlice - 1) / kSlice) {}
    Index begin(Index slice) const { return slice * kSlice; }
    Index width(Index slice) const { return std::min(kSlice, hidden - begin(slice)); }
};

// Two weights packed slice by slice: into the hidden layer and out of it.
class PackedWeights {
public:
    enum class Direction { forward, backward };

    PackedWeights(const MlpBranch& b, const Products& products, Direction direction)
        : slices_(b.hidden),
          in_size_(products.packed_size(b.dim, kSlice)),
          out_size_(products.packed_size(kSlice, b.dim)),
          memory_(slices_.count * (in_size_ + out_size_)) {
        timed(b.profile, Part::pack, [&] {
            const int workers = int(std::min<Index>(std::max(1, b.threads), slices_.count));
            run_workers(workers, [&](int worker) {
                const Share share = share_of(slices_.count, worker, workers);
                for (Index s = share.begin; s < share.end; ++s) pack(b, products, direction, s);
            });
        });
    }
    const float* in(Index slice) const { return memory_.data() + slice * (in_size_ + out_size_); }
    const float* out(Index slice) const { return in(slice) + in_size_; }

private:
    void pack(const MlpBranch& b, const Products& products, Direction direction, Index slice) {
        const Index begin = slices_.begin(slice), width = slices_.width(slice);
        // Element (hidden, dim) of fc1 and (dim, hidden) of fc2, both read as [dim, slice] here.
        PackSource in, out;
        if (direction == Direction::forward) {
            in = {.data = b.weight1 + begin * b.dim, .row_step = 1, .column_step = b.dim};
            out = {.data = b.weight2 + begin, .row_step = 1, .column_step = b.hidden};
        } else {
            in = {.data = b.weight2 + begin, .row_step = b.hidden, .row_scale = b.gain};
            out = {.data = b.weight1 + begin * b.dim, .row_step = b.dim};
        }
        in.rows = out.columns = b.dim;
        in.columns = out.rows = width;
        in.bfloat16 = out.bfloat16 = b.bfloat16;
        float* to = memory_.data() + slice * (in_size_ + out_size_);
        products.pack(in, to);
        products.pack(out, to + in_size_);
    }

    Slices slices_;
    Index in_size_, out_size_;
    Buffer memory_;
};

class Forward {
public:
    Forward(const MlpBranch& branch, const float* x, float* y, void* kept)
        : b_(branch), chunks_(branch), x_(x), y_(y), kept_(kept) {}

    void run() {
        const Index rows = chunks_.most_images() * b_.tokens;
        const Index size = rows * (2 * b_.dim + 2 * kSlice);
        const Buffer memory(size * chunks_.workers());
        chunks_.for_chunks([&](Index chunk, int worker) {
            float* normed = memory.data() + worker * size;
            float* branch = normed + rows * b_.dim;
            float* hidden = branch + rows * b_.dim;
            const Share images = chunks_.images_of(chunk);
            norm_chunk(b_, chunks_, images, x_, normed);
            for (Index s = 0; s < slices_.count; ++s)
                slice(s, images, normed, hidden, hidden + rows * kSlice, branch);
            add_branch(b_, chunks_, images, x_, branch, y_);
        });
        copy_dropped(b_, x_, y_);
    }

private:
    void slice(Index s, Share images, const float* normed, float* before, float* after,
               float* branch) {
        const Index rows = (images.end - images.begin) * b_.tokens;
        const Index begin = slices_.begin(s), width = slices_.width(s);
        const Index offset = images.begin * b_.tokens * b_.hidden + rows * begin;
        timed(b_.profile, Part::gemm, [&] {
            products_.gemm({.m = rows,
                            .n = width,
                            .k = b_.dim,
                            .a = normed,
                            .a_row = b_.dim,
                            .packed = weights_.in(s),
                            .c = before,
                            .c_ld = width,
                            .bias = b_.bias1 == nullptr ? nullptr : b_.bias1 + begin});
        });
        timed(b_.profile, Part::gelu, [&] {
            if (b_.bfloat16) table_.scale(before, 1, rows * width, before, true);
            if (b_.bfloat16 && kept_ != nullptr)
                table_.to_bfloat16(before, rows * width,
                                   static_cast<std::uint16_t*>(kept_) + offset);
            else if (kept_ != nullptr)
                table_.put_away(before, rows * width, static_cast<float*>(kept_) + offset);
            table_.gelu(before, rows * width, after, b_.bfloat16);
        });
        timed(b_.profile, Part::gemm, [&] {
            products_.gemm({.m = rows,
                            .n = b_.dim,
                            .k = width,
                            .a = after,
                            .a_row = width,
                            .packed = weights_.out(s),
                            .c = branch,
                            .c_ld = b_.dim,
                            .accumulate = s > 0,
                            .bias = s > 0 ? nullptr : b_.bias2});
        });
    }

    const MlpBranch& b_;
    const KernelTable& table_ = best_kernels();
    Products products_ = products(b_.bfloat16);
    Chunks chunks_;
    Slices slices_{b_.hidden};
    PackedWeights weights_{b_, products_, PackedWeights::Direction::forward};
    const float* x_;
    float* y_;
    void* kept_;
};

// One group's sums, one after the other.
struct Sums {
    Index dim, hidden;
    Index weight1() const { return 0; }                      // [hidden, dim]
    Index products() const { return hidden * dim; }          // [hidden, dim], see finish_output
    Index bias1() const { return 2 * hidden * dim; }         // [hidden]
    Index columns() const { return bias1() + hidden; }       // [dim]
    Index norm_weight() const { return columns() + dim; }    // [dim]
    Index norm_bias() const { return norm_weight() + dim; }  // [dim]
    Index size() const { return (norm_bias() + dim + 15) / 16 * 16; }
};

class Backward {
public:
    Backward(const MlpBranch& branch, const float* x, const void* kept, const float* dy, float* dx)
        : b_(branch), x_(x), kept_(kept), dy_(dy), dx_(dx) {}

    void run(float* sums) {
        const Index rows = chunks_.most_images() * b_.tokens;
        const Index size =
            rows * (3 * b_.dim + 3 * kSlice) + 2 * products_.packed_size(rows, b_.dim);
        const Buffer memory((size + 15) / 16 * 16 * chunks_.workers());
        const auto local = [&](Index group, int worker) {
            return Local{memory.data() + worker * ((size + 15) / 16 * 16),
                         sums + group * at_.size()};
        };
        chunks_.for_groups(
            [&](Index group, int worker) {
                std::fill_n(local(group, worker).sums, at_.size(), 0.0F);
            },
            [&](Index group, Index chunk, int worker) {
                run_chunk(chunks_.images_of(chunk), local(group, worker));
            });
        copy_dropped(b_, dy_, dx_);
    }

    Index groups() const { return chunks_.groups(); }

private:
    struct Local {
        float* memory;
        float* sums;
    };

    void run_chunk(Share images, const Local& local) {
        const Index most = chunks_.most_images() * b_.tokens;
        const Index rows = (images.end - images.begin) * b_.tokens;
        float* normed = local.memory;
        float* d_normed = normed + most * b_.dim;
        float* gradient_buffer = d_normed + most * b_.dim;
        float* hidden = gradient_buffer + most * b_.dim;
        float* packed_normed = hidden + 3 * most * kSlice;
        float* packed_gradient = packed_normed + products_.packed_size(most, b_.dim);

        norm_chunk(b_, chunks_, images, x_, normed);
        const float* gradient = branch_gradient(b_, chunks_, images, dy_, gradient_buffer);
        timed(b_.profile, Part::pack, [&] {
            pack_rows(normed, rows, packed_normed);
            pack_rows(gradient, rows, packed_gradient);
        });
        timed(b_.profile, Part::other, [&] {
            table_.add_columns(gradient, rows, b_.dim, b_.dim, local.sums + at_.columns());
        });
        for (Index s = 0; s < slices_.count; ++s) {
            d_hidden(s, rows, gradient, hidden + most * kSlice);
            through_gelu(s, images, hidden, hidden + most * kSlice, hidden + 2 * most * kSlice,
                         local.sums);
            weight_products(s, rows, hidden + most * kSlice, hidden + 2 * most * kSlice,
                            packed_normed, packed_gradient, local.sums);
            d_input(s, rows, hidden + most * kSlice, d_normed);
        }
        norm_chunk_backward(b_, chunks_, images, x_, d_normed, dy_, dx_,
                            local.sums + at_.norm_weight(), local.sums + at_.norm_bias());
    }

    void pack_rows(const float* rows_of, Index rows, float* packed) {
        products_.pack({.data = rows_of,
                        .rows = rows,
                        .columns = b_.dim,
                        .row_step = b_.dim,
                        .bfloat16 = b_.bfloat16},
                       packed);
    }

    void d_hidden(Index s, Index rows, const float* gradient, float* d_after) {
        const Index width = slices_.width(s);
        timed(b_.profile, Part::gemm, [&] {
            products_.gemm({.m = rows,
                            .n = width,
                            .k = b_.dim,
                            .a = gradient,
                            .a_row = b_.dim,
                            .packed = weights_.in(s),
                            .c = d_after,
                            .c_ld = width});
        });
    }

    // d_after becomes the gradient before GELU; `after` gets GELU's values once more.
    void through_gelu(Index s, Share images, float* buffer, float* d_after, float* after,
                      float* sums) {
        const Index rows = (images.end - images.begin) * b_.tokens;
        const Index begin = slices_.begin(s), width = slices_.width(s);
        const Index offset = images.begin * b_.tokens * b_.hidden + rows * begin;
        const float* before = buffer;
        timed(b_.profile, Part::gelu, [&] {
            if (b_.bfloat16)
                table_.from_bfloat16(static_cast<const std::uint16_t*>(kept_) + offset,
                                     rows * width, buffer);
            else
                before = static_cast<const float*>(kept_) + offset;
            table_.gelu_backward(before, d_after, rows * width, after, d_after, b_.bfloat16);
        });
        timed(b_.profile, Part::other,
              [&] { table_.add_columns(d_after, rows, width, width, sums + at_.bias1() + begin); });
    }

    void weight_products(Index s, Index rows, const float* d_before, const float* after,
                         const float* packed_normed, const float* packed_gradient, float* sums) {
        const Index begin = slices_.begin(s), width = slices_.width(s);
        GemmArgs args{.m = width,
                      .n = b_.dim,
                      .k = rows,
                      .a = d_before,
                      .a_row = 1,
                      .a_step = width,
                      .packed = packed_normed,
                      .c = sums + at_.weight1() + begin * b_.dim,
                      .c_ld = b_.dim,
                      .accumulate = true};
        timed(b_.profile, Part::gemm, [&] {
            products_.gemm(args);
            args.a = after;
            args.packed = packed_gradient;
            args.c = sums + at_.products() + begin * b_.dim;
            products_.gemm(args);
        });
    }

    void d_input(Index s, Index rows, const float* d_before, float* d_normed) {
        const Index width = slices_.width(s);
        timed(b_.profile, Part::gemm, [&] {
            products_.gemm({.m = rows,
                            .n = b_.dim,
                            .k = width,
                            .a = d_before,
                            .a_row = width,
                            .packed = weights_.out(s),
                            .c = d_normed,
                            .c_ld = b_.dim,
                            .accumulate = s > 0});
        });
    }

    const MlpBranch& b_;
    const KernelTable& table_ = best_kernels();
    Products products_ = products(b_.bfloat16);
    Slices slices_{b_.hidden};
    Sums at_{b_.dim, b_.hidden};
    Chunks chunks_{b_, at_.size()};
    PackedWeights weights_{b_, products_, PackedWeights::Direction::backward};
    const float* x_;
    const void* kept_;
    const float* dy_;
    float* dx_;
};

}  // namespace

void mlp_branch_forward(const MlpBranch& branch, const float* x, float* y, void* kept) {
    Forward(branch, x, y, kept).run();
}

void mlp_branch_backward(const MlpBranch& branch, const float* x, const void* kept, const float* dy,
                         const MlpGradients& gradients) {
    const Sums at{branch.dim, branch.hidden};
    Backward backward(branch, x, kept, dy, gradients.x);
    const Buffer sums(at.size() * backward.groups());
    backward.run(sums.data());
    timed(branch.profile, Part::other, [&] {
        // All sums at once: waking the threads for each of them would take longer than adding.
        sum_groups(sums.data(), at.size(), backward.groups(), at.size(), branch.threads);
        const auto total = [&](Index offset, Index count, float* to) {
            if (to != nullptr) std::copy_n(sums.data() + offset, count, to);
        };
        const Index products = branch.hidden * branch.dim;
        total(at.weight1(), products, gradients.weight1);
        total(at.bias1(), branch.hidden, gradients.bias1);
        total(at.norm_weight(), branch.dim, gradients.norm_weight);
        total(at.norm_bias(), branch.dim, gradients.norm_bias);
        finish_output(branch, branch.hidden, branch.weight2, branch.bias2,
                      sums.data() + at.products(), sums.data() + at.columns(), gradients.output);
    });
}

}  // namespace cait::kernels
