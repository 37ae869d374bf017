#include "kernels/branch.h"

#include <algorithm>
#include <atomic>

#include "kernels/dispatch.h"

namespace cait::kernels {

namespace {

constexpr Index kChunkRows = 256;
constexpr Index kChunkFloats = 1 << 16;  // of one [rows, dim] matrix
constexpr Index kGroups = 4;
constexpr Index kSumFloats = 1 << 24;  // of all groups

}  // namespace

Chunks::Chunks(const BranchOptions& o, Index sum_size) {
    for (Index i = 0; i < o.batch; ++i)
        if (o.factors == nullptr || o.factors[i] != 0) active_.push_back(i);
    const Index rows = std::min(kChunkRows, kChunkFloats / std::max<Index>(1, o.dim));
    const Index threads = std::max(1, o.threads);
    images_ = std::max<Index>(1, rows / std::max<Index>(1, o.tokens));
    images_ = std::min(images_, std::max<Index>(1, (active() + threads - 1) / threads));
    count_ = (active() + images_ - 1) / images_;
    const Index fitting = std::min(kGroups, kSumFloats / std::max<Index>(1, sum_size));
    groups_ = std::max<Index>(1, std::min(count_, std::max(threads, fitting)));
    workers_ = int(std::max<Index>(1, std::min(threads, sum_size > 0 ? groups_ : count_)));
}

void Chunks::for_chunks(const std::function<void(Index, int)>& work) const {
    std::atomic<Index> next = 0;
    run_workers(workers_, [&](int worker) {
        for (Index chunk = next++; chunk < count_; chunk = next++) work(chunk, worker);
    });
}

void Chunks::for_groups(const std::function<void(Index, int)>& start,
                        const std::function<void(Index, Index, int)>& work) const {
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

Share Chunks::images_of(Index chunk) const {
    return {chunk * images_, std::min(active(), (chunk + 1) * images_)};
}

void norm_chunk(const BranchOptions& o, const Chunks& chunks, Share images, const float* x,
                float* normed) {
    const Index size = o.tokens * o.dim;
    timed(o.profile, Part::norm, [&] {
        for (Index i = images.begin; i < images.end; ++i, normed += size)
            best_kernels().layer_norm(x + chunks.image(i) * size, o.norm_weight, o.norm_bias,
                                      o.epsilon, o.tokens, o.dim, normed, o.bfloat16);
    });
}

const float* branch_gradient(const BranchOptions& o, const Chunks& chunks, Share images,
                             const float* dy, float* buffer) {
    const Index size = o.tokens * o.dim;
    if (o.factors == nullptr && !o.bfloat16) return dy + images.begin * size;
    timed(o.profile, Part::residual, [&] {
        float* to = buffer;
        for (Index i = images.begin; i < images.end; ++i, to += size) {
            const Index image = chunks.image(i);
            best_kernels().scale(dy + image * size, o.factors == nullptr ? 1 : o.factors[image],
                                 size, to, o.bfloat16);
        }
    });
    return buffer;
}

void add_branch(const BranchOptions& o, const Chunks& chunks, Share images, const float* x,
                const float* branch, float* y) {
    const Index size = o.tokens * o.dim;
    timed(o.profile, Part::residual, [&] {
        for (Index i = images.begin; i < images.end; ++i, branch += size) {
            const Index image = chunks.image(i);
            best_kernels().residual(x + image * size, branch, o.gain,
                                    o.factors == nullptr ? 1 : o.factors[image], o.tokens, o.dim,
                                    y + image * size);
        }
    });
}

void norm_chunk_backward(const BranchOptions& o, const Chunks& chunks, Share images, const float* x,
                         const float* d_normed, const float* dy, float* dx, float* d_weight,
                         float* d_bias) {
    const Index size = o.tokens * o.dim;
    timed(o.profile, Part::norm, [&] {
        for (Index i = images.begin; i < images.end; ++i, d_normed += size) {
            const Index at = chunks.image(i) * size;
            best_kernels().layer_norm_backward(x + at, o.norm_weight, o.epsilon, d_normed, dy + at,
                                               o.tokens, o.dim, dx + at, d_weight, d_bias);
        }
    });
}

void copy_dropped(const BranchOptions& o, const float* from, float* to) {
    if (o.factors == nullptr) return;
    const Index size = o.tokens * o.dim;
    for (Index i = 0; i < o.batch; ++i)
        if (o.factors[i] == 0) std::copy_n(from + i * size, size, to + i * size);
}

void finish_output(const BranchOptions& o, Index inner, const float* weight, const float* bias,
                   const float* products, const float* columns, const OutputGradients& gradients) {
    run_workers(std::max(1, o.threads), [&](int worker) {
        const Share share = share_of(o.dim, worker, std::max(1, o.threads));
        for (Index c = share.begin; c < share.end; ++c) {
            const float gain = o.gain == nullptr ? 1 : o.gain[c];
            double d_gain = bias == nullptr ? 0 : double(bias[c]) * double(columns[c]);
            for (Index j = 0; j < inner; ++j) {
                const float product = products[j * o.dim + c];
                gradients.weight[c * inner + j] = gain * product;
                d_gain += double(weight[c * inner + j]) * double(product);
            }
            if (gradients.bias != nullptr) gradients.bias[c] = gain * columns[c];
            if (gradients.gain != nullptr) gradients.gain[c] = float(d_gain);
        }
    });
}

void sum_groups(float* parts, Index stride, Index groups, Index count, int threads) {
    if (groups == 1) return;
    run_workers(std::max(1, threads), [&](int worker) {
        const Share share = share_of(count, worker, std::max(1, threads));
        for (Index group = 1; group < groups; ++group)
            best_kernels().add(parts + group * stride + share.begin, share.end - share.begin,
                               parts + share.begin);
    });
}

}  // namespace cait::kernels
