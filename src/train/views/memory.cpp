#include "train/views/memory.h"

#include <fmt/format.h>

#include <cmath>

#include "cait/error.h"
#include "train/views/process_rows.h"
#include "train/views/unit_rows.h"

namespace cait {

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

}  // namespace cait
