#include "serve/protocol/infer_response.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/finite_logits.h"
#include "models/top_answers.h"
#include "serve/protocol/output_writer.h"

namespace cait::serve {

namespace {

// "value:index:label" of the likeliest classes, row by row.
std::vector<std::string> classification(const Tensor& values, std::size_t count,
                                        const ServedModel& model) {
    std::vector<std::string> texts;
    const auto rows = std::size_t(values.shape()[0]), classes = std::size_t(values.shape()[1]);
    for (std::size_t i = 0; i < rows; ++i) {
        const std::span<const float> row = values.floats().subspan(i * classes, classes);
        for (const RankedClass& ranked : top_answers(row, count))
            texts.push_back(fmt::format("{:f}:{}:{}", row[std::size_t(ranked.index)], ranked.index,
                                        model.label(std::size_t(ranked.index))));
    }
    return texts;
}

// Values that were sent may be to blame, and then the request is.
void check_finite(const Tensor& values, const std::string& name, const InferRequest& request) {
    const auto bad =
        std::ranges::find_if(values.floats(), [](float value) { return !std::isfinite(value); });
    if (bad == values.floats().end()) return;
    const auto each = std::ptrdiff_t(values.count() / values.shape()[0]);
    const float largest = request.largest.value_or(0);
    const std::string text =
        fmt::format("input {}: image {}: output {}: expected finite values, found {}: {}",
                    request.largest ? kImagesInput : kEncodedInput,
                    (bad - values.floats().begin()) / each, name, *bad, overflow_reason(largest));
    if (inputs_overflow(largest)) throw HttpError(400, text);
    throw Error(text);
}

}  // namespace

std::uint64_t answer_bytes(const InferRequest& request, const ServedModel& model,
                           std::uint64_t images) {
    constexpr std::uint64_t kRank = 64;
    std::uint64_t bytes = frame_bytes(request, model);
    for (const RequestedOutput& wanted : request.outputs) {
        const Shape& shape = model.output(wanted.name)->shape;
        if (wanted.classes > 0) {
            const auto classes = std::min<std::uint64_t>(wanted.classes, std::uint64_t(shape[1]));
            bytes += images * classes * (kRank + kEscapedBytes * model.longest_label());
        } else {
            bytes += images * std::uint64_t(shape.count()) *
                     (wanted.binary ? sizeof(float) : kNumberBytes);
        }
    }
    return bytes;
}

Response infer_response(const InferRequest& request, const ServedModel& model,
                        const std::map<std::string, Tensor>& outputs) {
    std::vector<std::vector<std::string>> texts(request.outputs.size());
    std::vector<WrittenOutput> written;
    for (std::size_t i = 0; i < request.outputs.size(); ++i) {
        const RequestedOutput& wanted = request.outputs[i];
        const Tensor& values = outputs.at(wanted.name);
        check_finite(values, wanted.name, request);
        WrittenOutput& output = written.emplace_back(
            WrittenOutput{.name = wanted.name, .binary = wanted.binary, .shape = {}, .values = {}});
        Shape shape = values.shape();
        if (wanted.classes > 0) {
            texts[i] = classification(values, wanted.classes, model);
            shape[1] = std::int64_t(texts[i].size()) / shape[0];
            output.values = std::span<const std::string>(texts[i]);
        } else {
            output.values = values.floats();
        }
        output.shape.assign(shape.extents().begin(), shape.extents().end());
    }
    const auto images = std::uint64_t(outputs.begin()->second.shape()[0]);
    return written_response(request, model, written, answer_bytes(request, model, images));
}

}  // namespace cait::serve
