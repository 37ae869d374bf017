#include "data/batch.h"

#include <algorithm>
#include <cstring>

#include "cait/error.h"

namespace cait {

namespace {

void copy_row(const std::byte* from, std::size_t row, std::byte* to, std::size_t place,
              std::size_t bytes) {
    if (from != to || row != place) std::memcpy(to + place * bytes, from + row * bytes, bytes);
}

}  // namespace

Tensor Batch::images() const {
    if (!views.empty()) throw Error("a batch of several views has no single images");
    if (!inputs.empty()) throw Error("a batch of named inputs has no images");
    Shape shape = storage.shape();
    shape[0] = std::int64_t(size);
    return Tensor::view(storage.dtype(), shape, storage.bytes(), storage.owner());
}

void Batch::keep(std::span<const std::size_t> rows) {
    std::byte* const pixels = storage.mutable_bytes().data();
    const std::size_t image = storage.byte_size() / std::size_t(storage.shape()[0]);
    for (std::size_t place = 0; place < rows.size(); ++place) {
        copy_row(pixels, rows[place], pixels, place, image);
        keys[place] = keys[rows[place]];
    }
    for (auto& [name, tensor] : targets) {
        Shape shape = tensor.shape();
        if (shape[0] != std::int64_t(size)) continue;  // of the batch before: collate() rebuilds it
        const std::size_t bytes = tensor.byte_size() / std::size_t(shape[0]);
        shape[0] = std::int64_t(rows.size());
        Tensor kept = Tensor::empty(tensor.dtype(), shape);
        for (std::size_t place = 0; place < rows.size(); ++place)
            copy_row(tensor.bytes(), rows[place], kept.mutable_bytes().data(), place, bytes);
        tensor = std::move(kept);
    }
    size = rows.size();
    keys.resize(size);
}

void Batch::finish(std::span<const MixDraw> mixed, const TargetList& kinds) {
    if (!mixed.empty()) {
        const Shape& shape = storage.shape();
        const std::size_t values = size * std::size_t(shape[1] * shape[2] * shape[3]);
        apply_mix(mixed, shape[1], shape[2], shape[3], storage.mutable_floats().first(values));
    }
    for (const TargetPtr& target : kinds) target->collate(mixed, targets);
}

}  // namespace cait
