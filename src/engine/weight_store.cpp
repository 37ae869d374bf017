#include "engine/weight_store.h"

#include <fmt/format.h>

#include <cstring>

#include "base/content_hash.h"
#include "cait/error.h"
#include "kernels/dispatch.h"
#include "system/file_guard.h"

namespace cait::engine {

using kernels::Index;

// A name alone does not do: weights that a pass computed carry the name of a node, and another pass
// may give the same name to other values. Values of a mapped file are known by their place, which
// nobody else gets while the store holds on to them; others, and whatever goes into a file, by
// their content.
std::string WeightStore::key(const std::string& name, const Tensor& weight,
                             const std::string& form) {
    if (weight.writable() || !cache_.empty())
        return fmt::format("{} {:016x} {}", name,
                           content_hash({weight.bytes(), weight.byte_size()}), form);
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
    const std::string known =
        key(name, weight, fmt::format("{} packed {}", form, kernels::row_of(format).name));
    const PackedEntry* entry = file_ ? file_->find(known) : nullptr;
    if (entry != nullptr && entry->view.format == format && entry->view.rows == extents.rows &&
        entry->view.columns == extents.columns)
        return (mapped_[known] = *entry).view;
    if (const auto found = matrices_.find(known); found != matrices_.end()) return found->second;
    const kernels::PackSource from = source();
    std::byte* memory =
        memory_.take(kernels::products(format).packed_bytes(from.rows, from.columns));
    const kernels::PackedView made = kernels::pack_into(from, format, memory, threads);
    release_mapped_pages({weight.bytes(), weight.byte_size()});  // one matrix at a time is resident
    return matrices_[known] = made;
}

WeightStore::WeightStore(std::filesystem::path cache) : cache_(std::move(cache)) {
    if (cache_.empty()) return;
    PackedFile::Opened opened = PackedFile::open(cache_);
    file_ = std::move(opened.file);
    if (!file_ && !PackedFile::may_replace(cache_))
        throw Error(fmt::format(
            "{}: expected packed weights or no file, found something else, which would be lost",
            cache_.string()));
    if (!opened.damage.empty())
        note_ = fmt::format("{}: packed weights are damaged ({}): packing them again",
                            cache_.string(), opened.damage);
}

void WeightStore::save() const {
    const std::lock_guard lock(mutex_);
    if (cache_.empty() || matrices_.empty()) return;
    std::map<std::string, PackedEntry> all = mapped_;
    for (const auto& [known, matrix] : matrices_) all[known] = PackedEntry::of(matrix);
    PackedFile::write(cache_, all);
}

Index WeightStore::byte_size() const {
    const std::lock_guard lock(mutex_);
    Index total = memory_.used();
    for (const auto& [name, entry] : mapped_) total += Index(packed_size(entry.view));
    return total;
}

}  // namespace cait::engine
