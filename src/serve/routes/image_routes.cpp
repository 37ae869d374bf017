// The simple way in: a photograph is sent as it is, classes or vectors come back.
#include <fmt/format.h>

#include <algorithm>

#include "models/finite_logits.h"
#include "models/top_answers.h"
#include "serve/http/query.h"
#include "serve/routes/attention.h"
#include "serve/routes/replies.h"
#include "serve/routes/sent_image.h"
#include "serve/service.h"

namespace cait::serve {

namespace {

using nlohmann::json;

ServedModelPtr chosen_model(Service& service, const Parameters& parameters) {
    const std::string* name = parameters.find("model");
    const std::string* version = parameters.find("version");
    if (name == nullptr) return service.repository().standard();
    return service.repository().get(*name, version == nullptr ? "" : *version);
}

json answers_json(const ServedModel& model, std::span<const float> logits, std::size_t top) {
    check_finite_logits(logits, "image");
    json list = json::array();
    const Task& task = model.model().task();
    for (const RankedClass& ranked : counted_answers(top_answers(logits, top, task), task))
        list.push_back(
            {{"label", model.label(std::size_t(ranked.index))}, {"score", ranked.probability}});
    return list;
}

void classify(Service& service, Call call) {
    const Parameters& parameters = call.request->parameters();
    parameters.allow({"top", "attention", "model", "version"});
    const ServedModelPtr model = chosen_model(service, parameters);
    const bool attention = parameters.flag("attention");
    const Task task = model->model().task();
    const std::size_t top = parameters.number(
        "top", std::min(task_row(task.name).most_answers, kMostClasses), 1, kMostClasses);
    if (model->tap("logits") == nullptr)
        throw HttpError(400,
                        fmt::format("model {}: it has no classes of images{}", model->name(),
                                    model->detector() != nullptr     ? "; POST /detect asks it"
                                    : model->segmenter() != nullptr  ? "; POST /segment asks it"
                                    : model->translator() != nullptr ? "; POST /translate asks it"
                                                                     : ""));
    if (attention && model->attention_taps().empty())
        throw HttpError(400, fmt::format("attention: model {} has no class token", model->name()));
    service.compute(
        std::move(call), model, [model, attention, top](Request& request, const Intake& images) {
            const Sent sent = sent_image(request);
            images.admit(sent.image);
            Work work{.taps = {"logits"}, .images = {}, .format = {}};
            if (attention) work.taps = model->attention_and_logits();
            auto seen = std::make_shared<SeenPart>();
            work.images = prepared_photo(*model, sent.image, images, request, *seen);
            const std::size_t count = sent.top.value_or(top);
            work.format = [model, attention, count, seen,
                           threshold = model->model().task().threshold](const auto& outputs) {
                const std::span<const float> logits = outputs.at("logits").floats();
                json answers = answers_json(*model, logits, count);
                // A bare list, as other servers have it, where there is nothing else to say.
                if (!attention && threshold == 0) return json_response(answers);
                json reply{{"answers", std::move(answers)}};
                if (threshold > 0) reply["threshold"] = threshold;
                if (attention) reply["attention"] = attention_json(*model, outputs, *seen);
                return json_response(reply);
            };
            return work;
        });
}

void embed(Service& service, Call call) {
    const Parameters& parameters = call.request->parameters();
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

}  // namespace

void add_image_routes(Service& service) {
    Router& router = service.router();
    const auto before_body = [&service](const Request& head) {
        service.check_room(*chosen_model(service, head.parameters()), head.arrived);
    };
    router.add("POST", "/classify", [&service](Call call) { classify(service, std::move(call)); })
        .before_body = before_body;
    router.add("POST", "/embed", [&service](Call call) { embed(service, std::move(call)); })
        .before_body = before_body;
}

}  // namespace cait::serve
