#include "train/views/knn_loss.h"

#include <algorithm>
#include <limits>

#include "train/views/process_rows.h"

namespace cait {

namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr std::int64_t kMostScores = std::int64_t(1) << 23;  // at once

// Similarities of all queries with some rows of the memory, over sigma. In float64: a small sigma
// makes much of the last digits of a cosine, and products of float32 would be its largest error.
struct Scores {
    at::Tensor rows;  // [r, D]
    at::Tensor all;   // [Q, r]; an image is not its own neighbour
    at::Tensor same;  // the same, with those of other classes left out
};

class Pass {
public:
    Pass(const KnnQueries& queries, const KnnShard& shard, double sigma)
        : vectors_(queries.vectors.to(at::kDouble)),
          queries_(queries),
          shard_(shard),
          sigma_(sigma) {}

    template <class Work>
    void for_each_piece(const Work& work) const {
        const std::int64_t queries = std::max<std::int64_t>(1, queries_.vectors.size(0));
        const std::int64_t rows = shard_.vectors.size(0);
        const std::int64_t step = std::max<std::int64_t>(1, kMostScores / queries);
        for (std::int64_t begin = 0; begin < rows; begin += step)
            work(scores(begin, std::min(step, rows - begin)));
    }

private:
    Scores scores(std::int64_t begin, std::int64_t count) const {
        const auto piece = [&](const at::Tensor& x) { return x.narrow(0, begin, count); };
        Scores s{piece(shard_.vectors).to(at::kDouble), {}, {}};
        s.all = at::matmul(vectors_, s.rows.t()).div_(sigma_);
        s.all.masked_fill_(queries_.images.unsqueeze(1).eq(piece(shard_.images)), kNever);
        s.same = s.all.masked_fill(queries_.labels.unsqueeze(1).ne(piece(shard_.labels)), kNever);
        return s;
    }

    at::Tensor vectors_;  // [Q, D]
    const KnnQueries& queries_;
    const KnnShard& shard_;
    double sigma_;
};

// log Σ exp over the memories of all processes of what each has found in its own, [Q].
at::Tensor over_processes(const at::Tensor& own, ProcessGroup& group) {
    if (group.world() == 1) return own;
    at::Tensor all = at::zeros({group.world(), own.size(0)}, own.options());
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
        const Pass pass(all, shard, sigma);
        const auto options = all.vectors.options().dtype(at::kDouble);
        at::Tensor everybody = at::full({all.vectors.size(0)}, kNever, options);
        at::Tensor class_mates = everybody.clone();
        pass.for_each_piece([&](const Scores& s) {
            everybody = at::logaddexp(everybody, s.all.logsumexp(1));
            class_mates = at::logaddexp(class_mates, s.same.logsumexp(1));
        });
        everybody = over_processes(everybody, group);
        class_mates = over_processes(class_mates, group);
        const at::Tensor counts = class_mates.isfinite();
        const at::Tensor zero = at::zeros({}, options);
        const at::Tensor loss = at::where(counts, everybody - class_mates, zero);

        // d loss_i / d v_i = Σ_j (p_ij - p_ij among its class) m_j / sigma
        at::Tensor gradient = at::zeros(all.vectors.sizes(), options);
        const at::Tensor mates = at::where(counts, class_mates, zero);
        everybody = at::where(counts, everybody, zero);
        pass.for_each_piece([&](const Scores& s) {
            const at::Tensor weights =
                (s.all - everybody.unsqueeze(1)).exp() - (s.same - mates.unsqueeze(1)).exp();
            gradient.addmm_(weights, s.rows);
        });
        gradient.div_(sigma).mul_(counts.unsqueeze(1));
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
