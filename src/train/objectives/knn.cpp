#include "train/objectives/knn.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cait/error.h"
#include "train/objectives/features.h"
#include "train/objectives/objective.h"

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

namespace {

// As the public code of SNCA starts it: uniform, of about unit length.
at::Tensor noise(std::int64_t first, std::int64_t step, std::int64_t images, std::int64_t columns,
                 std::uint64_t seed) {
    const std::int64_t rows = first < images ? (images - first + step - 1) / step : 0;
    const auto bound = float(1 / std::sqrt(double(columns) / 3));
    at::Tensor values = at::empty({rows, columns}, at::kFloat);
    for (std::int64_t r = 0; r < rows; ++r) {
        RandomStream random(seed, stable_hash("memory") ^ std::uint64_t(first + r * step));
        float* row = values.data_ptr<float>() + r * columns;
        for (std::int64_t c = 0; c < columns; ++c)
            row[c] = bound * (2 * float(random.uniform()) - 1);
    }
    return values;
}

}  // namespace

FeatureMemory::FeatureMemory(const MemoryPart& part, std::vector<std::int64_t> labels,
                             std::int64_t columns, std::uint64_t seed, ProcessGroup& group,
                             at::Device device)
    : part_(part), labels_(std::move(labels)), group_(group) {
    const at::Tensor all = at::tensor(labels_, at::kLong).to(device);
    row_labels_ = rows_of_own(all, group_).contiguous();
    row_images_ =
        rows_of_own(at::arange(size(), at::device(device).dtype(at::kLong)), group_).contiguous();
    rows_ = noise(group_.rank(), group_.world(), size(), columns, seed).to(device);
}

at::Tensor FeatureMemory::loss(const at::Tensor& vectors, std::span<const SampleKey> keys,
                               const at::Tensor& labels) {
    std::vector<std::int64_t> images;
    for (const SampleKey& key : keys) images.push_back(std::int64_t(key.sample));
    const KnnQueries own{vectors.detach(), at::tensor(images, at::kLong).to(vectors.device()),
                         labels};
    seen_.push_back({rows_of_all(own.vectors, group_), rows_of_all(own.images, group_),
                     rows_of_all(own.labels, group_)});
    return knn_loss(vectors, seen_.back(), {rows_, row_images_, row_labels_}, part_.sigma, group_);
}

// In the order of the batch: an image may be in it more than once.
void FeatureMemory::update() {
    const at::NoGradGuard no_gradients;
    for (const KnnQueries& seen : seen_) {
        const at::Tensor images = seen.images.cpu();
        for (std::int64_t i = 0; i < images.numel(); ++i) {
            const std::int64_t image = images.data_ptr<std::int64_t>()[i];
            if (image < 0 || image >= size() || image % group_.world() != group_.rank()) continue;
            at::Tensor row = rows_[image / group_.world()];
            // Rounded once, since sigma makes much of the last digits.
            row.copy_(unit_rows(part_.momentum * row.to(at::kDouble) +
                                (1 - part_.momentum) * seen.vectors[i].to(at::kDouble)));
        }
    }
    seen_.clear();
}

at::Tensor FeatureMemory::gathered() const {
    if (group_.world() == 1) return rows_;
    at::Tensor all = at::empty({size(), rows_.size(1)}, rows_.options());
    for (int rank = 0; rank < group_.world(); ++rank) {
        const at::Tensor place = all.slice(0, rank, c10::nullopt, group_.world());
        at::Tensor part =
            rank == group_.rank() ? rows_.clone() : at::empty_like(place).contiguous();
        if (part.numel() > 0) group_.broadcast(part, rank);
        place.copy_(part);
    }
    return all;
}

void FeatureMemory::load(const at::Tensor& all) {
    if (all.dim() != 2 || all.size(0) != size() || all.size(1) != rows_.size(1))
        throw Error(fmt::format("memory: expected {} vectors of {} numbers, found {}", size(),
                                rows_.size(1), fmt::join(all.sizes(), "x")));
    const at::NoGradGuard no_gradients;
    rows_.copy_(rows_of_own(all, group_));
}

namespace {

constexpr const char* kMemory = "memory";

class KnnObjective : public Objective {
public:
    explicit KnnObjective(const ObjectiveSetup& setup)
        : projection_(projection_tap(setup.recipe)),
          part_(setup.recipe.memory),
          seed_(std::uint64_t(setup.recipe.train.seed)),
          labels_(setup.data.labels),
          group_(setup.group),
          device_(setup.device) {
        if (labels_.empty())
            throw Error("[loss] memory: expected the labels of the training images");
    }

    std::vector<std::string> taps() const override { return {projection_}; }
    Needs needs() const override { return {.spread_state = true}; }

    void start(const Graph& network, std::span<const TrainParam> /*params*/) override {
        memory_ = std::make_unique<FeatureMemory>(
            part_, std::move(labels_), width_of(network, projection_), seed_, group_, device_);
    }

    LossResult loss(std::span<const TorchTensors> outputs, const ObjectiveBatch& batch,
                    const EvaluateContext& /*context*/) override {
        const at::Tensor vectors = outputs[0].at(projection_).narrow(0, 0, batch.size());
        const at::Tensor total = memory_->loss(unit_rows(vectors), batch.keys, batch.target(kLabels));
        return {.total = total, .parts = {{"knn", total.detach()}}, .correct = {}};
    }

    void after_step(std::span<const TrainParam> /*params*/, double /*target_momentum*/) override {
        memory_->update();
    }
    void forget() override { memory_->forget(); }

    TensorState state() const override { return {{kMemory, memory_->gathered()}}; }
    void load_state(std::map<std::string, at::Tensor>& state) override {
        memory_->load(take_entry(state, kMemory));
    }

private:
    std::string projection_;
    MemoryPart part_;
    std::uint64_t seed_;
    std::vector<std::int64_t> labels_;  // until the memory is made
    ProcessGroup& group_;
    at::Device device_;
    std::unique_ptr<FeatureMemory> memory_;
};

}  // namespace

std::unique_ptr<Objective> make_knn(const ObjectiveSetup& setup) {
    return std::make_unique<KnnObjective>(setup);
}

}  // namespace cait
