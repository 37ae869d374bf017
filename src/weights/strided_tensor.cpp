#include "weights/strided_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cait/error.h"

namespace cait {

namespace {

bool is_empty(const StridedTensor& tensor) {
    return std::ranges::find(tensor.extents, 0) != tensor.extents.end();
}

}  // namespace

bool is_row_major(const StridedTensor& tensor) {
    if (is_empty(tensor)) return true;
    std::int64_t expected = 1;
    for (std::size_t i = tensor.extents.size(); i-- > 0;) {
        if (tensor.extents[i] == 1) continue;  // its stride is never used
        if (tensor.strides[i] != expected) return false;
        expected *= tensor.extents[i];
    }
    return true;
}

std::size_t checked_byte_size(const StridedTensor& tensor, const std::string& where) {
    const auto fail = [&](const std::string& what) {
        throw Error(
            fmt::format("{}: {} (shape {})", where, what, Shape(tensor.extents).to_string()));
    };
    if (tensor.extents.size() != tensor.strides.size())
        fail(fmt::format("{} strides", tensor.strides.size()));
    const auto available = std::int64_t(tensor.storage.size() / size_of(tensor.dtype));
    auto bytes = std::int64_t(size_of(tensor.dtype));
    std::int64_t last = tensor.offset;  // the furthest element that is read
    bool overflow = false;
    for (std::size_t i = 0; i < tensor.extents.size(); ++i) {
        const std::int64_t extent = tensor.extents[i], stride = tensor.strides[i];
        if (extent < 0 || stride < 0) fail("negative extent or stride");
        overflow |= __builtin_mul_overflow(bytes, extent, &bytes);
        std::int64_t reach = 0;
        overflow |= extent > 0 && __builtin_mul_overflow(extent - 1, stride, &reach);
        overflow |= __builtin_add_overflow(last, reach, &last);
    }
    if (overflow) fail("overflow");
    const bool inside = is_empty(tensor) ? tensor.offset <= available : last < available;
    if (tensor.offset < 0 || !inside)
        fail(fmt::format("reaches from element {} to {} of a storage of {}", tensor.offset, last,
                         available));
    return std::size_t(bytes);
}

Tensor dense_tensor(const StridedTensor& tensor, const std::shared_ptr<const void>& owner) {
    const std::size_t size = size_of(tensor.dtype);
    const std::byte* source = tensor.storage.data() + std::size_t(tensor.offset) * size;
    if (is_row_major(tensor))
        return Tensor::view(tensor.dtype, Shape(tensor.extents), source, owner);

    Tensor copy = Tensor::empty(tensor.dtype, Shape(tensor.extents));
    std::byte* target = copy.mutable_bytes().data();
    const std::size_t rank = tensor.extents.size();
    std::vector<std::int64_t> index(rank, 0);
    for (std::int64_t element = 0, from = 0; element < copy.count(); ++element) {
        std::memcpy(target, source + std::size_t(from) * size, size);
        target += size;
        for (std::size_t axis = rank; axis-- > 0;) {  // the next index, the last axis fastest
            if (tensor.extents[axis] == 1) continue;  // such a stride is not checked
            from += tensor.strides[axis];
            if (++index[axis] < tensor.extents[axis]) break;
            from -= tensor.strides[axis] * tensor.extents[axis];
            index[axis] = 0;
        }
    }
    return copy;
}

}  // namespace cait
