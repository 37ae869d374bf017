// A model's weights in the forms that steps read: packed for products, ordered for convolutions,
// or as they are. Plans of the same model share one store, so that each form exists once.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "cait/tensor.h"
#include "engine/packed_file.h"
#include "engine/slabs.h"
#include "kernels/packed_matrix.h"

namespace cait::engine {

class WeightStore {
public:
    WeightStore() = default;
    // Packed weights are looked for in `cache` first, which save() makes or renews. Throws Error
    // for a file that is something else: it would be written over.
    explicit WeightStore(std::filesystem::path cache);

    using Fill = std::function<void(float*)>;
    using Source = std::function<kernels::PackSource()>;

    // Floats in memory of the store's own. `form` says what `fill` makes of the weight: the same
    // name, content and form are made once.
    const float* floats(const std::string& name, const Tensor& weight, const std::string& form,
                        kernels::Index count, const Fill& fill);
    // The weight as it is.
    const float* floats(const std::string& name, const Tensor& weight);
    struct Extents {
        kernels::Index rows = 0;
        kernels::Index columns = 0;
    };
    // [k, columns] packed; `source` is asked only where it was not packed before. A matrix of the
    // cache that has other extents is not taken: kernels would read beyond it.
    kernels::PackedView packed(const std::string& name, const Tensor& weight,
                               const std::string& form, kernels::Format format,
                               const Extents& extents, const Source& source, int threads);
    // Any bytes that a kernel wants its weights in.
    const std::byte* bytes(const std::string& name, const Tensor& weight, const std::string& form,
                           kernels::Index count, const std::function<void(std::byte*)>& fill);

    // Writes the packed weights to the cache if it lacks some of them.
    void save() const;

    kernels::Index byte_size() const;  // of everything that is stored

    // One line where the cache was damaged and is not used; empty otherwise.
    const std::string& note() const { return note_; }

private:
    std::string key(const std::string& name, const Tensor& weight, const std::string& form);

    std::filesystem::path cache_;
    std::shared_ptr<const PackedFile> file_;
    std::string note_;
    mutable std::mutex mutex_;
    Slabs memory_;
    std::map<const std::byte*, Tensor> held_;  // that keys name by their place
    std::map<std::string, const std::byte*> buffers_;
    std::map<std::string, kernels::PackedView> matrices_;
    std::map<std::string, PackedEntry> mapped_;  // of the cache, those that were asked for
};

}  // namespace cait::engine
