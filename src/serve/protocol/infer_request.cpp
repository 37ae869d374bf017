#include "serve/protocol/infer_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/display_name.h"
#include "models/finite_logits.h"
#include "serve/protocol/base64.h"
#include "serve/protocol/tensor_json.h"
#include "serve/protocol/translate_request.h"

namespace cait::serve {

namespace {

using nlohmann::json;

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
    throw HttpError(400, fmt::format(text, std::forward<Args>(args)...));
}

// A member of an object; null where it is not there.
const json* member(const json& object, const char* name) {
    const auto found = object.find(name);
    return found == object.end() ? nullptr : &*found;
}

const json& parameters_of(const json& object, std::string_view whose) {
    static const json kNone = json::object();
    const json* parameters = member(object, "parameters");
    if (parameters == nullptr) return kNone;
    if (!parameters->is_object()) refuse("{}: parameters: expected an object", whose);
    return *parameters;
}

bool flag_of(const json& parameters, const char* name, bool otherwise, std::string_view whose) {
    const json* value = member(parameters, name);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) refuse("{}: {}: expected true or false", whose, name);
    return value->get<bool>();
}

std::optional<std::size_t> count_of(const json& parameters, const char* name,
                                    std::string_view whose) {
    const json* value = member(parameters, name);
    if (value == nullptr) return std::nullopt;
    if (!value->is_number_unsigned()) refuse("{}: {}: expected a number, 0 or more", whose, name);
    return value->get<std::size_t>();
}

std::string text_of(const json& object, const char* name, std::string_view whose) {
    const json* value = member(object, name);
    if (value == nullptr || !value->is_string()) refuse("{}: {}: expected a text", whose, name);
    return value->get<std::string>();
}

std::vector<std::int64_t> shape_of(const json& input, std::string_view name) {
    const json* shape = member(input, "shape");
    if (shape == nullptr || !shape->is_array()) refuse("input {}: shape: expected a list", name);
    std::vector<std::int64_t> extents;
    for (const json& extent : *shape) {
        if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > (std::uint64_t{1} << 40))
            refuse("input {}: shape: expected numbers, 0 or more, that memory holds", name);
        extents.push_back(extent.get<std::int64_t>());
    }
    return extents;
}

// The parts of a body: JSON, then the bytes of tensors one after the other.
class BinaryPart {
public:
    explicit BinaryPart(std::string_view bytes) : rest_(bytes) {}

    std::string_view take(std::size_t size, std::string_view whose) {
        if (size > rest_.size())
            refuse("{}: binary_data_size: expected at most the {} bytes that are left, found {}",
                   whose, rest_.size(), size);
        const std::string_view taken = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return taken;
    }
    void check_end() const {
        if (!rest_.empty())
            refuse("body: expected nothing after the inputs, found {} bytes", rest_.size());
    }

private:
    std::string_view rest_;
};

// An input as it stands in the request.
struct RawInput {
    std::string name, type;
    std::vector<std::int64_t> shape;
    std::optional<std::string_view> bytes;  // binary
    JsonData* data = nullptr;               // or JSON
};

std::string shape_text(const std::vector<std::int64_t>& shape) {
    return fmt::format("[{}]", fmt::join(shape, ", "));
}

void check_count(std::size_t count, std::size_t most = kMostImages, const char* what = "images") {
    if (count == 0 || count > most)
        refuse("inputs: expected 1 to {} {}, found {}", most, what, count);
}

Tensor images_of(const RawInput& input, const ServedModel& model) {
    const auto [height, width] = model.image_size();
    if (input.type != "FP32")
        refuse("input images: datatype: expected FP32, found {}", display_name(input.type));
    const bool fits = input.shape.size() == 4 && input.shape[1] == 3 && input.shape[2] == height &&
                      input.shape[3] == width;
    if (!fits)
        refuse("input images: shape: expected [-1, 3, {}, {}], found {}", height, width,
               shape_text(input.shape));
    check_count(std::size_t(input.shape[0]));
    const auto count = std::size_t(input.shape[0] * 3 * height * width);
    const auto check_size = [&](std::size_t found, const char* of) {
        if (found != count)
            refuse("input images: data: expected {} values for {}, found {} {}", count,
                   shape_text(input.shape), found, of);
    };
    Tensor tensor = Tensor::empty(DType::f32, Shape(input.shape));
    if (input.bytes) {
        if (input.bytes->size() != count * sizeof(float))
            refuse("input images: data: expected {} bytes for {}, found {}", count * sizeof(float),
                   shape_text(input.shape), input.bytes->size());
        std::memcpy(tensor.mutable_bytes().data(), input.bytes->data(), input.bytes->size());
    } else {
        if (!input.data->texts.empty()) refuse("input images: data: expected numbers, found texts");
        check_size(input.data->numbers.size(), "values");
        if (input.data->extents.size() > 1 && input.data->extents != input.shape)
            refuse("input images: data: expected lists of shape {}, found {}",
                   shape_text(input.shape), shape_text(input.data->extents));
        std::ranges::copy(input.data->numbers, tensor.mutable_floats().begin());
    }
    // One that is not finite would spoil the batch that others are in.
    if (!std::ranges::all_of(tensor.floats(), [](float value) { return std::isfinite(value); }))
        refuse("input images: data: expected finite values");
    return tensor;
}

// BYTES: the length of each element as 4 bytes, the lowest first, and then the element.
std::vector<std::string> binary_elements(const RawInput& input) {
    std::string_view bytes = *input.bytes;
    std::vector<std::string> elements;
    while (!bytes.empty()) {
        std::uint32_t length = 0;
        if (bytes.size() < sizeof length || std::int64_t(elements.size()) == input.shape[0])
            refuse("input {}: data: expected {} elements and nothing after them", input.name,
                   input.shape[0]);
        std::memcpy(&length, bytes.data(), sizeof length);
        bytes.remove_prefix(sizeof length);
        if (length > bytes.size())
            refuse("input {}: data: element {} has {} bytes, found {}", input.name, elements.size(),
                   length, bytes.size());
        elements.emplace_back(bytes.substr(0, length));
        bytes.remove_prefix(length);
    }
    return elements;
}

// As they stand there: in JSON files are base64.
std::vector<std::string> elements_of(RawInput& input) {
    const bool lines = input.name == kTextInput;
    if (input.type != "BYTES")
        refuse("input {}: datatype: expected BYTES, found {}", input.name,
               display_name(input.type));
    const bool fits = input.shape.size() == 1 || (input.shape.size() == 2 && input.shape[1] == 1);
    if (!fits)
        refuse("input {}: shape: expected [-1], found {}", input.name, shape_text(input.shape));
    if (lines)
        check_count(std::size_t(input.shape[0]), ServedTranslator::kMostLines, "lines");
    else
        check_count(std::size_t(input.shape[0]));
    if (!input.bytes && !input.data->numbers.empty())
        refuse("input {}: data: expected {}, found numbers", input.name,
               lines ? "texts" : "base64 texts");
    std::vector<std::string> elements =
        input.bytes ? binary_elements(input) : std::move(input.data->texts);
    if (elements.size() != std::size_t(input.shape[0]))
        refuse("input {}: data: expected {} elements, found {}", input.name, input.shape[0],
               elements.size());
    return elements;
}

std::vector<std::string> encoded_of(RawInput& input) {
    std::vector<std::string> files = elements_of(input);
    if (!input.bytes)
        for (std::string& file : files) file = base64_decoded(file, "input encoded: data");
    return files;
}

void check_input_name(const std::string& name, const ServedModel& model) {
    if (model.translator() != nullptr) {
        if (name != kTextInput)
            refuse("inputs: expected {}, found {}", kTextInput, display_name(name));
    } else if (name != kImagesInput && name != kEncodedInput) {
        refuse("inputs: expected {} or {}, found {}", kImagesInput, kEncodedInput,
               display_name(name));
    }
}

RawInput raw_input(const json& input, JsonData& data, BinaryPart& binary,
                   const ServedModel& model) {
    if (!input.is_object()) refuse("inputs: expected objects");
    RawInput raw{.name = text_of(input, "name", "input"), .type = {}, .shape = {}, .bytes = {}};
    check_input_name(raw.name, model);
    const std::string whose = "input " + raw.name;
    raw.type = text_of(input, "datatype", whose);
    raw.shape = shape_of(input, raw.name);
    const auto size = count_of(parameters_of(input, whose), "binary_data_size", whose);
    if (size.has_value() == data.given)
        refuse("{}: expected data or binary_data_size, found {}", whose,
               data.given ? "both" : "neither");
    if (size) raw.bytes = binary.take(*size, whose);
    raw.data = &data;
    return raw;
}

RequestedOutput output_of(const json& output, bool binary, const ServedModel& model) {
    if (!output.is_object()) refuse("outputs: expected objects");
    RequestedOutput wanted{.name = text_of(output, "name", "output")};
    const TapInfo* tap = model.output(wanted.name);
    if (tap == nullptr)
        refuse("outputs: {} is none of model {}", display_name(wanted.name), model.name());
    const std::string whose = "output " + wanted.name;
    const json& parameters = parameters_of(output, whose);
    wanted.binary = flag_of(parameters, "binary_data", binary, whose);
    wanted.classes = count_of(parameters, "classification", whose).value_or(0);
    if (wanted.classes > 0 && (model.detector() != nullptr || tap->shape.rank() != 2))
        refuse("{}: classification: expected an output of shape [-1, classes], found {}", whose,
               tap->shape.to_string());
    return wanted;
}

std::size_t json_length(const Request& request) {
    const std::string* field = request.field("inference-header-content-length");
    if (field == nullptr) return request.body.size();
    std::size_t length = 0;
    const char* end = field->data() + field->size();
    const auto [last, problem] = std::from_chars(field->data(), end, length);
    if (problem != std::errc() || last != end || length > request.body.size())
        refuse("Inference-Header-Content-Length: expected 0 to {}, the bytes of the body, found {}",
               request.body.size(), display_name(*field));
    return length;
}

// A body without JSON: the pixels of one image, or its file, or one line of text.
InferRequest raw_request(std::string_view body, const ServedModel& model) {
    const auto [height, width] = model.image_size();
    InferRequest result;
    if (model.translator() != nullptr) {
        result.texts = lines_of(body);
        if (result.texts.size() != 1)
            refuse("body: expected one line of text, found {}", result.texts.size());
    } else if (body.size() == std::size_t(3 * height * width) * sizeof(float)) {
        RawInput input{
            .name = kImagesInput, .type = "FP32", .shape = {1, 3, height, width}, .bytes = body};
        result.images = images_of(input, model);
    } else {
        if (body.empty()) refuse("body: expected an image, found nothing");
        result.encoded.emplace_back(body);
    }
    for (const std::string& name : model.usual_outputs()) result.outputs.push_back({name, true, 0});
    return result;
}

void read_inputs(InferRequest& result, RequestJson& parsed, std::string_view binary_bytes,
                 const ServedModel& model) {
    const json* inputs = member(parsed.tree, "inputs");
    if (inputs == nullptr || !inputs->is_array() || inputs->size() != 1)
        refuse("inputs: expected a list with one of them");
    BinaryPart binary(binary_bytes);
    RawInput input = raw_input(inputs->front(), parsed.data.front(), binary, model);
    binary.check_end();
    if (input.name == kTextInput) {
        result.texts = elements_of(input);
    } else if (input.name == kImagesInput) {
        result.images = images_of(input, model);
        result.largest = largest_magnitude(result.images.floats());
    } else {
        result.encoded = encoded_of(input);
    }
}

void read_outputs(InferRequest& result, const json& tree, const ServedModel& model) {
    const bool binary =
        flag_of(parameters_of(tree, "request"), "binary_data_output", false, "request");
    if (const json* outputs = member(tree, "outputs"); outputs != nullptr) {
        if (!outputs->is_array()) refuse("outputs: expected a list");
        for (const json& output : *outputs) {
            result.outputs.push_back(output_of(output, binary, model));
            if (std::ranges::count(result.outputs, result.outputs.back().name,
                                   &RequestedOutput::name) > 1)
                refuse("outputs: {} is asked for twice", result.outputs.back().name);
        }
    }
    if (!result.outputs.empty()) return;
    for (const std::string& name : model.usual_outputs())
        result.outputs.push_back({name, binary, 0});
}

// Of the request's parameters those that mean something for one translation of each line.
TranslateWish wish_of(const json& parameters) {
    TranslateWish wish;
    for (const char* name : {"beam", "length_penalty"})
        if (const json* value = member(parameters, name); value != nullptr)
            read_wish(wish, name, *value);
    return wish;
}

}  // namespace

std::vector<std::string> InferRequest::taps() const {
    std::vector<std::string> names;
    for (const RequestedOutput& output : outputs) names.push_back(output.name);
    std::ranges::sort(names);
    return names;
}

InferRequest parse_infer_request(const Request& request, const ServedModel& model) {
    const std::string_view body = request.body;
    const std::size_t length = json_length(request);
    if (length == 0 && request.field("inference-header-content-length") != nullptr) {
        request.need(body.size(), "request");
        return raw_request(body, model);
    }
    // The images or files are a copy of what the parser made, or of the bytes behind it.
    request.need(memory_to_parse(body.substr(0, length)) + body.size(), "request");
    RequestJson parsed = parse_request_json(body.substr(0, length));
    if (!parsed.tree.is_object()) refuse("request: expected an object");
    InferRequest result;
    if (const json* id = member(parsed.tree, "id"); id != nullptr) {
        if (!id->is_string()) refuse("id: expected a text");
        result.id = id->get<std::string>();
    }
    const json& parameters = parameters_of(parsed.tree, "request");
    if (const auto microseconds = count_of(parameters, "timeout", "request");
        microseconds.value_or(0) > 0)
        result.timeout = double(*microseconds) * 1e-6;
    if (model.translator() != nullptr) result.wish = wish_of(parameters);
    read_outputs(result, parsed.tree, model);
    read_inputs(result, parsed, body.substr(length), model);
    return result;
}

}  // namespace cait::serve
