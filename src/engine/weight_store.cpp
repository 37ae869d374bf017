#include "engine/weight_store.h"

#include <fmt/format.h>

#include <cstring>

#include "kernels/dispatch.h"

namespace cait::engine {

namespace {

using kernels::Index;

// Of the content: weights that a pass computed carry the name of a node, and another pass may give
// the same name to other values.
std::uint64_t fingerprint(const Tensor& weight) {
    constexpr std::uint64_t kPrime = 0x9E3779B97F4A7C15;
    std::uint64_t hash = weight.byte_size() * kPrime;
    const std::byte* bytes = weight.bytes();
    std::size_t i = 0;
    for (; i + 8 <= weight.byte_size(); i += 8) {
        std::uint64_t word;
        std::memcpy(&word, bytes + i, sizeof word);
        hash = (hash ^ word) * kPrime;
        hash ^= hash >> 29;
    }
    for (; i < weight.byte_size(); ++i) hash = (hash ^ std::uint64_t(bytes[i])) * kPrime;
    return hash;
}

}  // namespace

std::string WeightStore::key(const std::string& name, const Tensor& weight,
                             const std::string& form) const {
    return fmt::format("{} {:016x} {}", name, fingerprint(weight), form);
}

const std::byte* WeightStore::bytes(const std::string& name, const Tensor& weight,
                                    const std::string& form, Index count,
                                    const std::function<void(std::byte*)>& fill) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<kernels::Buffer>& entry = buffers_[key(name, weight, form)];
    if (!entry) {
        auto made = std::make_shared<kernels::Buffer>(std::max<Index>(1, count));
        fill(made->data());
        entry = std::move(made);
    }
    return entry->data();
}

const float* WeightStore::floats(const std::string& name, const Tensor& weight,
                                 const std::string& form, Index count, const Fill& fill) {
    return reinterpret_cast<const float*>(
        bytes(name, weight, form, count * Index(sizeof(float)),
              [&](std::byte* to) { fill(reinterpret_cast<float*>(to)); }));
}

const float* WeightStore::floats(const std::string& name, const Tensor& weight) {
    return floats(name, weight, "floats", weight.count(),
                  [&](float* to) { std::memcpy(to, weight.bytes(), weight.byte_size()); });
}

kernels::PackedView WeightStore::packed(const std::string& name, const Tensor& weight,
                                        const std::string& form, kernels::Format format,
                                        const Source& source, int threads) {
    const std::lock_guard lock(mutex_);
    const char* suffix = format == kernels::Format::f32 ? "packed f32" : "packed bf16";
    const std::string known = key(name, weight, fmt::format("{} {}", form, suffix));
    if (const kernels::PackedView* view = file_ ? file_->find(known) : nullptr)
        return mapped_[known] = *view;
    std::shared_ptr<kernels::PackedMatrix>& entry = matrices_[known];
    if (!entry) {
        auto made = std::make_shared<kernels::PackedMatrix>();
        made->pack(source(), format, threads);
        entry = std::move(made);
    }
    return entry->view();
}

WeightStore::WeightStore(std::filesystem::path cache)
    : cache_(std::move(cache)), file_(cache_.empty() ? nullptr : PackedFile::open(cache_)) {}

void WeightStore::save() const {
    const std::lock_guard lock(mutex_);
    if (cache_.empty() || matrices_.empty()) return;
    std::map<std::string, kernels::PackedView> all = mapped_;
    for (const auto& [known, matrix] : matrices_) all[known] = matrix->view();
    PackedFile::write(cache_, all);
}

Index WeightStore::byte_size() const {
    const std::lock_guard lock(mutex_);
    Index total = 0;
    for (const auto& [name, buffer] : buffers_) total += buffer->size();
    for (const auto& [name, matrix] : matrices_) total += matrix->bytes();
    for (const auto& [name, view] : mapped_)
        total += kernels::products(view.format).packed_bytes(view.rows, view.columns);
    return total;
}

}  // namespace cait::engine
