#include "engine/weight_store.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "cait/error.h"
#include "kernels/dispatch.h"

namespace cait::engine {

namespace {

using kernels::Index;

// Of the content, in four sums at once so that memory is the limit and not the multiplications.
std::uint64_t fingerprint(const Tensor& weight) {
    constexpr std::uint64_t kPrime = 0x9E3779B97F4A7C15;
    constexpr std::size_t kLanes = 4;
    std::array<std::uint64_t, kLanes> sums{1, 2, 3, 4};
    const auto stir = [](std::uint64_t sum, std::uint64_t word) {
        sum = (sum ^ word) * kPrime;
        return sum ^ sum >> 29;
    };
    const std::byte* bytes = weight.bytes();
    const std::size_t size = weight.byte_size();
    std::size_t i = 0;
    for (; i + 8 * kLanes <= size; i += 8 * kLanes) {
        std::array<std::uint64_t, kLanes> words;
        std::memcpy(words.data(), bytes + i, sizeof words);
        for (std::size_t lane = 0; lane < kLanes; ++lane)
            sums[lane] = stir(sums[lane], words[lane]);
    }
    std::uint64_t hash = size;
    for (; i < size; ++i) hash = stir(hash, std::uint64_t(bytes[i]));
    for (const std::uint64_t sum : sums) hash = stir(hash, sum);
    return hash;
}

}  // namespace

// A name alone does not do: weights that a pass computed carry the name of a node, and another pass
// may give the same name to other values. Values of a mapped file are known by their place, which
// nobody else gets while the store holds on to them; others, and whatever goes into a file, by
// their content.
std::string WeightStore::key(const std::string& name, const Tensor& weight,
                             const std::string& form) {
    if (weight.writable() || !cache_.empty())
        return fmt::format("{} {:016x} {}", name, fingerprint(weight), form);
    held_.try_emplace(weight.bytes(), weight);
    return fmt::format("{} at {} {}", name, fmt::ptr(weight.bytes()), form);
}

const std::byte* WeightStore::bytes(const std::string& name, const Tensor& weight,
                                    const std::string& form, Index count,
                                    const std::function<void(std::byte*)>& fill) {
    const std::lock_guard lock(mutex_);
    const std::string known = key(name, weight, form);
    if (const auto found = buffers_.find(known); found != buffers_.end()) return found->second;
    std::byte* made = memory_.take(count);
    fill(made);
    return buffers_[known] = made;
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
                                        const Extents& extents, const Source& source, int threads) {
    const std::lock_guard lock(mutex_);
    const char* suffix = format == kernels::Format::f32 ? "packed f32" : "packed bf16";
    const std::string known = key(name, weight, fmt::format("{} {}", form, suffix));
    const kernels::PackedView* view = file_ ? file_->find(known) : nullptr;
    if (view != nullptr && view->format == format && view->rows == extents.rows &&
        view->columns == extents.columns)
        return mapped_[known] = *view;
    if (const auto found = matrices_.find(known); found != matrices_.end()) return found->second;
    const kernels::PackSource from = source();
    std::byte* memory =
        memory_.take(kernels::products(format).packed_bytes(from.rows, from.columns));
    return matrices_[known] = kernels::pack_into(from, format, memory, threads);
}

WeightStore::WeightStore(std::filesystem::path cache)
    : cache_(std::move(cache)), file_(cache_.empty() ? nullptr : PackedFile::open(cache_)) {
    if (!cache_.empty() && !file_ && !PackedFile::may_replace(cache_))
        throw Error(fmt::format(
            "{}: expected packed weights or no file, found something else, which would be lost",
            cache_.string()));
}

void WeightStore::save() const {
    const std::lock_guard lock(mutex_);
    if (cache_.empty() || matrices_.empty()) return;
    std::map<std::string, kernels::PackedView> all = mapped_;
    for (const auto& [known, matrix] : matrices_) all[known] = matrix;
    PackedFile::write(cache_, all);
}

Index WeightStore::byte_size() const {
    const std::lock_guard lock(mutex_);
    Index total = memory_.used();
    for (const auto& [name, view] : mapped_)
        total += kernels::products(view.format).packed_bytes(view.rows, view.columns);
    return total;
}

}  // namespace cait::engine
