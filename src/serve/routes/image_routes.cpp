// The simple way in: a photograph is sent as it is, classes, vectors or neighbours come back.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "measure/finite_logits.h"
#include "measure/top_answers.h"
#include "serve/http/query.h"
#include "serve/image_search.h"
#include "serve/protocol/base64.h"
#include "serve/protocol/multipart.h"
#include "serve/protocol/tensor_json.h"
#include "serve/routes/attention.h"
#include "serve/routes/replies.h"
#include "serve/service.h"

namespace cait::serve {

namespace {

using nlohmann::json;

constexpr std::size_t kMostClasses = 1000, kMostNeighbours = 1000;

// A photograph, and what a JSON body says beside it.
struct Sent {
    std::string image;
    std::optional<std::size_t> top;
};

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

Sent sent_image(Request& request) {
    const std::string* type = request.field("content-type");
    if (type != nullptr && is_multipart(*type)) return from_form(*type, request.body);
    if (type != nullptr && type->starts_with("application/json")) return from_json(request.body);
    if (request.body.empty()) throw HttpError(400, "body: expected an image, found nothing");
    return {std::move(request.body), {}};
}

ServedModelPtr chosen_model(Service& service, const Parameters& parameters) {
    const std::string* name = parameters.find("model");
    const std::string* version = parameters.find("version");
    if (name == nullptr) return service.repository().standard();
    return service.repository().get(*name, version == nullptr ? "" : *version);
}

json answers_json(const ServedModel& model, std::span<const float> logits, std::size_t top) {
    check_finite_logits(logits, "image");
    json list = json::array();
    for (const RankedClass& ranked : top_answers(logits, top))
        list.push_back(
            {{"label", model.label(std::size_t(ranked.index))}, {"score", ranked.probability}});
    return list;
}

void classify(Service& service, Call call) {
    const Parameters parameters(call.request->target);
    parameters.allow({"top", "attention", "model", "version"});
    const ServedModelPtr model = chosen_model(service, parameters);
    const bool attention = parameters.flag("attention");
    const std::size_t top = parameters.number("top", 5, 1, kMostClasses);
    if (model->tap("logits") == nullptr)
        throw HttpError(400, fmt::format("model {}: it has no classes", model->name()));
    if (attention && model->attention_taps().empty())
        throw HttpError(400, fmt::format("attention: model {} has no class token", model->name()));
    service.compute(
        std::move(call), model,
        [model, attention, top](Request& request, const Service::Admit& admit) {
            Sent sent = sent_image(request);
            admit(1);
            Work work{.taps = {"logits"}, .images = {}, .format = {}};
            if (attention) {
                work.taps = model->attention_taps();
                work.taps.emplace_back("logits");
                std::ranges::sort(work.taps);
            }
            auto seen = std::make_shared<SeenPart>();
            work.images = prepared_photo(*model, sent.image, *seen);
            const std::size_t count = sent.top.value_or(top);
            work.format = [model, attention, count, seen](const auto& outputs) {
                const std::span<const float> logits = outputs.at("logits").floats();
                json answers = answers_json(*model, logits, count);
                if (!attention) return json_response(answers);
                return json_response({{"answers", std::move(answers)},
                                      {"attention", attention_json(*model, outputs, *seen)}});
            };
            return work;
        });
}

// One image through the trunk.
Service::Prepare features_work(const ServedModelPtr& model,
                               std::function<Response(std::span<const float>)> format) {
    return [model, format = std::move(format)](Request& request, const Service::Admit& admit) {
        const Sent sent = sent_image(request);
        admit(1);
        return Work{.taps = {"features"},
                    .images = prepared_images(*model, {sent.image}),
                    .format = [format](const auto& outputs) {
                        return format(outputs.at("features").floats());
                    }};
    };
}

void embed(Service& service, Call call) {
    const Parameters parameters(call.request->target);
    parameters.allow({"model", "version"});
    const ServedModelPtr model = chosen_model(service, parameters);
    service.compute(std::move(call), model,
                    features_work(model, [model](std::span<const float> features) {
                        return json_response(
                            {{"model", model->name()},
                             {"version", model->version()},
                             {"embedding", std::vector<float>(features.begin(), features.end())}});
                    }));
}

json found_json(const EmbeddedSet& known, const Neighbour& one) {
    json labels = json::object();
    for (const LabelLevel& level : known.levels)
        labels[level.name] = level.classes.names[std::size_t(level.labels[one.row])];
    // Where the files lie is the server's own business.
    return {{"row", one.row},
            {"name", std::filesystem::path(known.names[one.row]).filename().string()},
            {"similarity", one.similarity},
            {"labels", std::move(labels)}};
}

void search(Service& service, Call call) {
    const std::shared_ptr<const ImageSearch> index = service.options().search;
    if (!index) throw HttpError(404, "search: this server was started without --index");
    const Parameters parameters(call.request->target);
    parameters.allow({"k"});
    const std::size_t rows = index->known().vectors.rows;
    const std::size_t k =
        parameters.number("k", std::min<std::size_t>(10, rows), 1, std::min(rows, kMostNeighbours));
    const ServedModelPtr model = service.repository().get(service.repository().index()[0].name);
    try {
        check_made_by(*index, *model, "index");  // its file may have been loaded anew
    } catch (const Error& error) {
        throw HttpError(503, error.what());
    }
    service.compute(std::move(call), model,
                    features_work(model, [index, k](std::span<const float> features) {
                        Vectors query{1, features.size(), {features.begin(), features.end()}};
                        normalise(query, "image");
                        json found = json::array();
                        for (const Neighbour& one : index->nearest(query, k))
                            found.push_back(found_json(index->known(), one));
                        return json_response({{"found", std::move(found)}});
                    }));
}

}  // namespace

void add_image_routes(Service& service) {
    Router& router = service.router();
    router.add("POST", "/classify", [&service](Call call) { classify(service, std::move(call)); });
    router.add("POST", "/embed", [&service](Call call) { embed(service, std::move(call)); });
    router.add("POST", "/search", [&service](Call call) { search(service, std::move(call)); });
}

}  // namespace cait::serve
