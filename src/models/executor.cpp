#include "models/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "cait/error.h"

namespace cait {

namespace {

Shape with_rows(Shape shape, std::int64_t rows) {
    shape[0] = rows;
    return shape;
}

Tensor rows_of(const Tensor& input, std::int64_t begin, std::int64_t end) {
    const std::size_t row = input.byte_size() / std::size_t(input.shape()[0]);
    return Tensor::view(input.dtype(), with_rows(input.shape(), end - begin),
                        input.bytes() + std::size_t(begin) * row, input.owner());
}

// Of every input.
std::int64_t row_count(const NamedInputs<Tensor>& inputs) {
    std::int64_t count = 0;
    for (const auto& [name, tensor] : inputs) {
        const bool has_rows = tensor.defined() && tensor.shape().rank() > 0;
        if (!has_rows || tensor.shape()[0] == 0)
            throw Error(fmt::format("expected at least one {}, found none",
                                    name.empty() ? "image" : "row of " + name));
        if (count != 0 && tensor.shape()[0] != count)
            throw Error(fmt::format("{}: expected {} rows like the inputs before it, found {}",
                                    name, count, tensor.shape()[0]));
        count = tensor.shape()[0];
    }
    if (count == 0) throw Error("expected at least one input, found none");
    return count;
}

NamedInputs<Tensor> rows_of(const NamedInputs<Tensor>& inputs, std::int64_t begin,
                            std::int64_t end) {
    NamedInputs<Tensor> part;
    for (const auto& [name, tensor] : inputs) part.emplace(name, rows_of(tensor, begin, end));
    return part;
}

}  // namespace

std::map<std::string, Tensor> run_in_batches(
    const Executor& executor, const NamedInputs<Tensor>& inputs,
    const std::vector<std::string>& taps, std::size_t batch,
    const std::function<void(std::size_t, std::size_t)>& progress) {
    const std::int64_t count = row_count(inputs);
    std::map<std::string, Tensor> results;
    for (std::int64_t begin = 0; begin < count; begin += std::int64_t(batch)) {
        const std::int64_t end = std::min(begin + std::int64_t(batch), count);
        for (const auto& [name, part] : executor.run(rows_of(inputs, begin, end), taps)) {
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
