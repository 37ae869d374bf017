#include "models/executor.h"

#include <algorithm>
#include <cstring>

#include "cait/error.h"

namespace cait {

namespace {

Shape with_rows(Shape shape, std::int64_t rows) {
    shape[0] = rows;
    return shape;
}

Tensor rows_of(const Tensor& images, std::int64_t begin, std::int64_t end) {
    const std::size_t row = images.byte_size() / std::size_t(images.shape()[0]);
    return Tensor::view(images.dtype(), with_rows(images.shape(), end - begin),
                        images.bytes() + std::size_t(begin) * row, images.owner());
}

}  // namespace

std::map<std::string, Tensor> run_in_batches(
    const Executor& executor, const Tensor& images, const std::vector<std::string>& taps,
    std::size_t batch, const std::function<void(std::size_t, std::size_t)>& progress) {
    if (!images.defined() || images.shape().rank() == 0 || images.shape()[0] == 0)
        throw Error("expected at least one image, found none");
    const std::int64_t count = images.shape()[0];
    std::map<std::string, Tensor> results;
    for (std::int64_t begin = 0; begin < count; begin += std::int64_t(batch)) {
        const std::int64_t end = std::min(begin + std::int64_t(batch), count);
        for (const auto& [name, part] : executor.run(rows_of(images, begin, end), taps)) {
            Tensor& whole = results[name];
            if (!whole.defined())
                whole = Tensor::empty(part.dtype(), with_rows(part.shape(), count));
            const std::size_t row = part.byte_size() / std::size_t(end - begin);
            std::memcpy(whole.mutable_bytes().data() + std::size_t(begin) * row, part.bytes(),
                        part.byte_size());
        }
        if (progress) progress(std::size_t(end), std::size_t(count));
    }
    return results;
}

}  // namespace cait
