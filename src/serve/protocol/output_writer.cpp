#include "serve/protocol/output_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

namespace cait::serve {

namespace {

using Texts = std::span<const std::string>;

void append_lengths(std::string& bytes, Texts texts) {
    for (const std::string& text : texts) {
        const auto length = std::uint32_t(text.size());
        bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
        bytes += text;
    }
}

template <class Number>
void append_numbers(std::string& json, std::span<const Number> values) {
    for (std::size_t i = 0; i < values.size(); ++i)
        fmt::format_to(std::back_inserter(json), "{}{}", i == 0 ? "" : ",", values[i]);
}

void append_texts(std::string& json, Texts texts) {
    for (std::size_t i = 0; i < texts.size(); ++i)
        json += (i == 0 ? "" : ",") + json_text(texts[i]);
}

// In binary form; texts stand behind their lengths.
std::size_t binary_size(const WrittenOutput& output) {
    if (const auto* texts = std::get_if<Texts>(&output.values)) {
        std::size_t bytes = 0;
        for (const std::string& text : *texts) bytes += sizeof(std::uint32_t) + text.size();
        return bytes;
    }
    return std::visit([](const auto& values) { return values.size_bytes(); }, output.values);
}

const char* type_of_values(const WrittenOutput& output) {
    constexpr const char* kTypes[] = {"FP32", "INT64", "BYTES"};
    return kTypes[output.values.index()];
}

// The object of an output, whose bytes follow later if it is binary.
void append_output(std::string& json, const WrittenOutput& output) {
    fmt::format_to(std::back_inserter(json), "{{\"name\":{},\"datatype\":\"{}\",\"shape\":[{}],",
                   json_text(output.name), type_of_values(output), fmt::join(output.shape, ","));
    if (output.binary) {
        fmt::format_to(std::back_inserter(json), "\"parameters\":{{\"binary_data_size\":{}}}}}",
                       binary_size(output));
        return;
    }
    json += "\"data\":[";
    if (const auto* texts = std::get_if<Texts>(&output.values))
        append_texts(json, *texts);
    else if (const auto* whole = std::get_if<std::span<const std::int64_t>>(&output.values))
        append_numbers(json, *whole);
    else
        append_numbers(json, std::get<std::span<const float>>(output.values));
    json += "]}";
}

void append_bytes(std::string& body, const WrittenOutput& output) {
    if (const auto* texts = std::get_if<Texts>(&output.values)) return append_lengths(body, *texts);
    std::visit(
        [&](const auto& values) {
            body.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
        },
        output.values);
}

}  // namespace

std::string json_text(std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::uint64_t frame_bytes(const InferRequest& request, const ServedModel& model) {
    constexpr std::uint64_t kAround = 1024;
    return kAround * (1 + request.outputs.size()) +
           kEscapedBytes * (request.id.size() + model.name().size());
}

// Written into memory of the size that was charged for it, and nowhere else before.
Response written_response(const InferRequest& request, const ServedModel& model,
                          std::span<const WrittenOutput> outputs, std::uint64_t most) {
    Response response;
    std::string& body = response.body;
    body.reserve(most);
    body += fmt::format("{{\"model_name\":{},\"model_version\":{}", json_text(model.name()),
                        json_text(model.version()));
    if (!request.id.empty()) body += ",\"id\":" + json_text(request.id);
    body += ",\"outputs\":[";
    for (const WrittenOutput& output : outputs) {
        if (body.back() != '[') body += ',';
        append_output(body, output);
    }
    body += "]}";
    if (std::ranges::none_of(outputs, &WrittenOutput::binary)) return response;
    response.type = "application/octet-stream";
    response.fields.push_back({"Inference-Header-Content-Length", std::to_string(body.size())});
    for (const WrittenOutput& output : outputs)
        if (output.binary) append_bytes(body, output);
    return response;
}

}  // namespace cait::serve
