// The right-hand side of products, packed once by the owner of the weights and again only after
// they have changed.
#pragma once

#include "kernels/product.h"
#include "kernels/workspace.h"

namespace cait::kernels {

class PackedMatrix {
public:
    PackedMatrix() = default;

    // For the products of this format; the memory is kept when the size is the same.
    void pack(const PackSource& source, Format format, int threads = 1);

    const PackedView& view() const { return view_; }
    Index bytes() const { return buffer_.size(); }

private:
    Buffer buffer_;
    PackedView view_;
};

// Into the caller's memory of products(format).packed_bytes(…).
PackedView pack_into(const PackSource& source, Format format, void* memory);
PackedView pack_into(const PackSource& source, Format format, void* memory, int threads);

// weight [outputs, inputs] for y = x · weight^T, and for dx = dy · weight (with dy scaled by `gain`
// [outputs] first, if given).
PackSource forward_source(const float* weight, Index outputs, Index inputs);
PackSource backward_source(const float* weight, Index outputs, Index inputs,
                           const float* gain = nullptr);

}  // namespace cait::kernels
