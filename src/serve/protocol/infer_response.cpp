#include "serve/protocol/infer_response.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>

#include "measure/finite_logits.h"
#include "measure/top_answers.h"

namespace cait::serve {

namespace {

std::string json_text(std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

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

void append_lengths(std::string& bytes, const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
        const auto length = std::uint32_t(text.size());
        bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
        bytes += text;
    }
}

void append_numbers(std::string& json, std::span<const float> values) {
    for (std::size_t i = 0; i < values.size(); ++i)
        fmt::format_to(std::back_inserter(json), "{}{}", i == 0 ? "" : ",", values[i]);
}

// An output as it is sent.
struct Part {
    std::string json;   // of the output's object, from "data" or "parameters" on
    std::string bytes;  // binary
};

Part part_of(const RequestedOutput& wanted, const Tensor& values, const ServedModel& model,
             std::string& type, Shape& shape) {
    Part part;
    type = "FP32";
    shape = values.shape();
    std::vector<std::string> texts;
    if (wanted.classes > 0) {
        texts = classification(values, wanted.classes, model);
        type = "BYTES";
        shape[1] = std::int64_t(texts.size()) / shape[0];
    }
    if (wanted.binary) {
        if (wanted.classes > 0)
            append_lengths(part.bytes, texts);
        else
            part.bytes.assign(reinterpret_cast<const char*>(values.bytes()), values.byte_size());
        part.json = fmt::format("\"parameters\":{{\"binary_data_size\":{}}}", part.bytes.size());
        return part;
    }
    part.json = "\"data\":[";
    if (wanted.classes > 0)
        for (const std::string& text : texts)
            part.json += (part.json.back() == '[' ? "" : ",") + json_text(text);
    else
        append_numbers(part.json, values.floats());
    part.json += ']';
    return part;
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

Response infer_response(const InferRequest& request, const ServedModel& model,
                        const std::map<std::string, Tensor>& outputs) {
    std::string json = fmt::format("{{\"model_name\":{},\"model_version\":{}",
                                   json_text(model.name()), json_text(model.version()));
    if (!request.id.empty()) json += ",\"id\":" + json_text(request.id);
    json += ",\"outputs\":[";
    std::string bytes;
    for (const RequestedOutput& wanted : request.outputs) {
        const Tensor& values = outputs.at(wanted.name);
        check_finite(values, wanted.name, request);
        std::string type;
        Shape shape;
        const Part part = part_of(wanted, values, model, type, shape);
        if (json.back() != '[') json += ',';
        json +=
            fmt::format("{{\"name\":{},\"datatype\":\"{}\",\"shape\":[{}],{}}}",
                        json_text(wanted.name), type, fmt::join(shape.extents(), ","), part.json);
        bytes += part.bytes;
    }
    json += "]}";
    Response response;
    const bool binary = std::ranges::any_of(request.outputs, &RequestedOutput::binary);
    if (binary) {
        response.type = "application/octet-stream";
        response.fields.push_back({"Inference-Header-Content-Length", std::to_string(json.size())});
    }
    response.body = std::move(json) + bytes;
    return response;
}

}  // namespace cait::serve
