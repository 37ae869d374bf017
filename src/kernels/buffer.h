// Uninitialised floats at the start of a cache line.
#pragma once

#include <memory>
#include <new>

#include "kernels/table.h"

namespace cait::kernels {

class Buffer {
public:
    Buffer() = default;
    explicit Buffer(Index count)
        : data_(static_cast<float*>(
              ::operator new (std::size_t(count) * sizeof(float), std::align_val_t{kAlignment}))) {}

    float* data() const { return data_.get(); }

private:
    static constexpr std::size_t kAlignment = 64;
    struct Release {
        void operator()(float* data) const {
            ::operator delete (data, std::align_val_t{kAlignment});
        }
    };
    std::unique_ptr<float, Release> data_;
};

}  // namespace cait::kernels
