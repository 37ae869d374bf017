#include "train/views/knn_loss.h"

#include <algorithm>
#include <limits>

#include "train/views/process_rows.h"

namespace cait {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr std::int64_t kMostScores = std::int64_t(1) << 16;  // at once: they stay in the cache

// For each row of scores that come in pieces Σ exp(score) and Σ exp(score) · neighbour, relative to
// the largest score so far (Milakov and Gimelshein 2018, arXiv 1805.02867).
class SoftmaxSums {
public:
    SoftmaxSums(std::int64_t rows, std::int64_t dim, const at::TensorOptions& options)
        : largest_(at::full({rows, 1}, std::numeric_limits<double>::lowest(), options)),
          sum_(at::zeros({rows, 1}, options)),
          vectors_(at::zeros({rows, dim}, options)) {}

    // `scores`: [rows, n], overwritten; `neighbours`: [n, dim].
    void add(at::Tensor& scores, const at::Tensor& neighbours) {
        const at::Tensor largest = at::maximum(largest_, scores.amax(1, true));
        const at::Tensor shrink = (largest_ - largest).exp_();
        scores.sub_(largest).exp_();
        sum_.mul_(shrink).add_(scores.sum(1, true));
        vectors_.mul_(shrink).addmm_(scores, neighbours);
        largest_ = largest;
    }

    at::Tensor log_sum() const { return largest_ + sum_.log(); }  // [rows, 1]; -inf without any

    // Σ softmax · neighbour where the softmax is over more than these sums have seen.
    at::Tensor mean_neighbour(const at::Tensor& log_sum) const {
        return vectors_ * (largest_ - log_sum).exp_();
    }

private:
    at::Tensor largest_, sum_, vectors_;
};

// The sums of all queries over the rows of the memory, then of all queries over those of their own
// class. In float64: a small sigma makes much of the last digits of a cosine, and products of
// float32 would be its largest error.
SoftmaxSums over_memory(const KnnQueries& queries, const KnnShard& shard, double sigma) {
    const at::Tensor vectors = queries.vectors.to(at::kDouble);
    const std::int64_t count = vectors.size(0), rows = shard.vectors.size(0);
    const std::int64_t step =
        std::max<std::int64_t>(1, kMostScores / std::max<std::int64_t>(1, count));
    SoftmaxSums sums(2 * count, vectors.size(1), vectors.options());
    for (std::int64_t begin = 0; begin < rows; begin += step) {
        const auto piece = [&](const at::Tensor& x) {
            return x.narrow(0, begin, std::min(step, rows - begin));
        };
        const at::Tensor neighbours = piece(shard.vectors).to(at::kDouble);
        at::Tensor scores = at::empty({2 * count, neighbours.size(0)}, vectors.options());
        at::Tensor everybody = scores.narrow(0, 0, count);
        at::mm_out(everybody, vectors, neighbours.t());
        everybody.div_(sigma);
        everybody.masked_fill_(queries.images.unsqueeze(1).eq(piece(shard.images)), kNever);
        scores.narrow(0, count, count)
            .copy_(everybody)
            .masked_fill_(queries.labels.unsqueeze(1).ne(piece(shard.labels)), kNever);
        sums.add(scores, neighbours);
    }
    return sums;
}

// log Σ exp over the memories of all processes of what each has found in its own, [n, 1].
at::Tensor over_processes(const at::Tensor& own, ProcessGroup& group) {
    if (group.world() == 1) return own;
    at::Tensor all = at::zeros({group.world(), own.size(0), 1}, own.options());
    all[group.rank()].copy_(own);
    group.all_reduce_sum(all);
    return all.logsumexp(0);
}

}  // namespace

at::Tensor knn_loss(const at::Tensor& own, const KnnQueries& all, const KnnShard& shard,
                    double sigma, ProcessGroup& group) {
    at::Tensor own_rows_loss, own_gradient;
    {
        const at::NoGradGuard no_gradients;
        const SoftmaxSums sums = over_memory(all, shard, sigma);
        const at::Tensor log_sums = over_processes(sums.log_sum(), group);
        const std::int64_t queries = all.vectors.size(0);
        const auto everybody = [&](const at::Tensor& x) { return x.narrow(0, 0, queries); };
        const auto class_mates = [&](const at::Tensor& x) { return x.narrow(0, queries, queries); };
        const at::Tensor counts = class_mates(log_sums).isfinite();  // [Q, 1]
        const at::Tensor zero = at::zeros({}, log_sums.options());
        const at::Tensor loss =
            at::where(counts, everybody(log_sums) - class_mates(log_sums), zero).squeeze(1);

        // d loss_i / d v_i = Σ_j (p_ij - p_ij among its class) m_j / sigma
        const at::Tensor mean = sums.mean_neighbour(log_sums);
        at::Tensor gradient = at::where(counts, everybody(mean) - class_mates(mean), zero);
        gradient.div_(sigma);
        if (group.world() > 1) group.all_reduce_sum(gradient);
        own_rows_loss = rows_of_own(loss, group);
        own_gradient = rows_of_own(gradient, group).to(own.scalar_type());
    }
    // Linear in the vectors, with the value and the gradient of the loss.
    const double images = double(std::max<std::int64_t>(1, own.size(0)));
    const at::Tensor move = ((own - own.detach()) * own_gradient).sum();
    return (own_rows_loss.sum().to(own.scalar_type()) + move) / images;
}

}  // namespace cait
