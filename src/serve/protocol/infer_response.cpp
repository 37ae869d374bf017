#include "serve/protocol/infer_response.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>

#include "models/finite_logits.h"
#include "models/top_answers.h"

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

// The texts of an output that is sent as such.
struct Texts {
    std::vector<std::string> all;
    std::size_t bytes = 0;  // in binary form, each behind its length
};

Texts texts_of(const RequestedOutput& wanted, const Tensor& values, const ServedModel& model) {
    Texts texts;
    if (wanted.classes == 0) return texts;
    texts.all = classification(values, wanted.classes, model);
    for (const std::string& text : texts.all) texts.bytes += sizeof(std::uint32_t) + text.size();
    return texts;
}

// The object of an output, whose bytes follow later if it is binary.
void append_output(std::string& json, const RequestedOutput& wanted, const Tensor& values,
                   const Texts& texts) {
    const bool has_texts = wanted.classes > 0;
    Shape shape = values.shape();
    if (has_texts) shape[1] = std::int64_t(texts.all.size()) / shape[0];
    fmt::format_to(std::back_inserter(json), "{{\"name\":{},\"datatype\":\"{}\",\"shape\":[{}],",
                   json_text(wanted.name), has_texts ? "BYTES" : "FP32",
                   fmt::join(shape.extents(), ","));
    if (wanted.binary) {
        fmt::format_to(std::back_inserter(json), "\"parameters\":{{\"binary_data_size\":{}}}}}",
                       has_texts ? texts.bytes : values.byte_size());
        return;
    }
    json += "\"data\":[";
    for (const std::string& text : texts.all)
        json += (json.back() == '[' ? "" : ",") + json_text(text);
    if (!has_texts) append_numbers(json, values.floats());
    json += "]}";
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
    constexpr std::uint64_t kAround = 1024, kNumber = 16, kEscaped = 6, kRank = 64;
    std::uint64_t bytes = kAround + kEscaped * (request.id.size() + model.name().size());
    for (const RequestedOutput& wanted : request.outputs) {
        const Shape& shape = model.tap(wanted.name)->shape;
        bytes += kAround;
        if (wanted.classes > 0) {
            const auto classes = std::min<std::uint64_t>(wanted.classes, std::uint64_t(shape[1]));
            bytes += images * classes * (kRank + kEscaped * model.longest_label());
        } else {
            bytes +=
                images * std::uint64_t(shape.count()) * (wanted.binary ? sizeof(float) : kNumber);
        }
    }
    return bytes;
}

// Written into memory of the size that was charged for it, and nowhere else before.
Response infer_response(const InferRequest& request, const ServedModel& model,
                        const std::map<std::string, Tensor>& outputs) {
    Response response;
    std::string& body = response.body;
    const Tensor& any = outputs.begin()->second;
    body.reserve(answer_bytes(request, model, std::uint64_t(any.shape()[0])));
    body += fmt::format("{{\"model_name\":{},\"model_version\":{}", json_text(model.name()),
                        json_text(model.version()));
    if (!request.id.empty()) body += ",\"id\":" + json_text(request.id);
    body += ",\"outputs\":[";
    std::vector<Texts> texts;
    for (const RequestedOutput& wanted : request.outputs) {
        const Tensor& values = outputs.at(wanted.name);
        check_finite(values, wanted.name, request);
        texts.push_back(texts_of(wanted, values, model));
        if (body.back() != '[') body += ',';
        append_output(body, wanted, values, texts.back());
    }
    body += "]}";
    if (std::ranges::none_of(request.outputs, &RequestedOutput::binary)) return response;
    response.type = "application/octet-stream";
    response.fields.push_back({"Inference-Header-Content-Length", std::to_string(body.size())});
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const RequestedOutput& wanted = request.outputs[i];
        const Tensor& values = outputs.at(wanted.name);
        if (!wanted.binary) continue;
        if (wanted.classes > 0)
            append_lengths(body, texts[i].all);
        else
            body.append(reinterpret_cast<const char*>(values.bytes()), values.byte_size());
    }
    return response;
}

}  // namespace cait::serve
