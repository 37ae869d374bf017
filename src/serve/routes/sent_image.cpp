#include "serve/routes/sent_image.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/finite_logits.h"
#include "serve/protocol/base64.h"
#include "serve/protocol/multipart.h"
#include "serve/protocol/tensor_json.h"
#include "serve/routes/replies.h"

namespace cait::serve {

namespace {

using nlohmann::json;

// {"inputs": base64, "parameters": {"top_k": 5}}, as Hugging Face's servers take it.
Sent from_json(std::string_view body) {
    const json tree = parse_small_json(body);
    const auto inputs = tree.is_object() ? tree.find("inputs") : tree.end();
    if (!tree.is_object() || inputs == tree.end() || !inputs->is_string())
        throw HttpError(400, "inputs: expected an image as base64");
    Sent sent{base64_decoded(inputs->get_ref<const std::string&>(), "inputs"), {}};
    const auto parameters = tree.find("parameters");
    if (parameters == tree.end() || !parameters->is_object()) return sent;
    const auto top = parameters->find("top_k");
    if (top == parameters->end() || top->is_null()) return sent;
    if (!top->is_number_unsigned() || top->get<std::size_t>() < 1 ||
        top->get<std::size_t>() > kMostClasses)
        throw HttpError(400, fmt::format("top_k: expected 1 to {}", kMostClasses));
    sent.top = top->get<std::size_t>();
    return sent;
}

Sent from_form(std::string_view type, std::string_view body) {
    std::vector<FormPart> parts = parse_multipart(type, body);
    const auto files = std::ranges::count_if(parts, &FormPart::is_file);
    if (files != 1)
        throw HttpError(400, fmt::format("multipart: expected one file, found {}", files));
    return {std::string(std::ranges::find_if(parts, &FormPart::is_file)->content), {}};
}

}  // namespace

Sent sent_image(Request& request) {
    const std::string* type = request.field("content-type");
    if (type != nullptr && is_multipart(*type)) {
        request.need(request.body.size(), "body");  // a copy
        return from_form(*type, request.body);
    }
    if (type != nullptr && type->starts_with("application/json")) {
        request.need(memory_to_parse(request.body) + request.body.size(), "body");
        return from_json(request.body);
    }
    if (request.body.empty()) throw HttpError(400, "body: expected an image, found nothing");
    return {std::move(request.body), {}};
}

bool accepts_png(const Request& request) {
    const std::string* accept = request.field("accept");
    return accept != nullptr && (accept->find("image/png") != std::string::npos ||
                                 accept->find("image/*") != std::string::npos);
}

Service::Prepare features_work(const ServedModelPtr& model,
                               std::function<Response(std::span<const float>)> format) {
    if (model->tap("features") == nullptr)
        throw HttpError(400, fmt::format("model {}: it has no features of images", model->name()));
    return [model, format = std::move(format)](Request& request, const Intake& images) {
        const Sent sent = sent_image(request);
        images.admit(sent.image);
        return Work{.taps = {"features"},
                    .images = prepared_images(*model, {sent.image}, images, request),
                    .format = [format](const auto& outputs) {
                        const std::span<const float> features = outputs.at("features").floats();
                        check_finite_values(features, "image", "feature");
                        return format(features);
                    }};
    };
}

}  // namespace cait::serve
