// POST /detect: a photograph is sent as it is, and what is in it comes back: classes, scores, boxes
// and masks as JSON, or the photograph with all of them drawn over it. The first stage goes through
// the engine like the images of any other request, and the second one follows on the engine's
// thread, so that both wait, are timed and are charged as other work is.
#include <fmt/format.h>

#include "serve/engine/detection_work.h"
#include "serve/http/query.h"
#include "serve/routes/detect_answer.h"
#include "serve/routes/replies.h"
#include "serve/routes/sent_image.h"
#include "serve/service.h"

namespace cait::serve {

namespace {

ServedModelPtr detect_model(Service& service, const Parameters& parameters) {
    const std::string* name = parameters.find("model");
    const std::string* version = parameters.find("version");
    ServedModelPtr model =
        name == nullptr ? service.repository().standard()
                        : service.repository().get(*name, version == nullptr ? "" : *version);
    if (model->detector() == nullptr)
        throw HttpError(400, fmt::format("model {}: it finds no objects, its task is {}",
                                         model->name(), model->model().task().name));
    return model;
}

MaskForm mask_form(const Parameters& parameters) {
    const std::string* masks = parameters.find("masks");
    if (masks == nullptr || *masks == "runs") return MaskForm::runs;
    if (*masks == "none") return MaskForm::none;
    if (*masks == "png") return MaskForm::png;
    throw HttpError(400, "masks: expected none, runs or png");
}

// ?as= decides, then what the client accepts: an image means the overlay.
bool wants_overlay(const Request& request) {
    if (const std::string* as = request.parameters().find("as"); as != nullptr) {
        if (*as == "overlay") return true;
        if (*as == "json") return false;
        throw HttpError(400, "as: expected json or overlay");
    }
    return accepts_png(request);
}

DetectAnswer wanted_answer(const Request& request) {
    const Parameters& parameters = request.parameters();
    constexpr std::size_t kMost = ServedDetector::kMostFound;
    return {.overlay = wants_overlay(request),
            .masks = mask_form(parameters),
            .threshold = parameters.fraction("threshold", 0.5, ServedDetector::kLeastScore),
            .most = parameters.number("most", kMost, 1, kMost)};
}

void detect(Service& service, Call call) {
    call.request->parameters().allow({"as", "masks", "threshold", "most", "model", "version"});
    const ServedModelPtr model = detect_model(service, call.request->parameters());
    const DetectAnswer wanted = wanted_answer(*call.request);
    const bool masks = wanted.masks != MaskForm::none && model->detector()->network().masks;
    service.compute(
        std::move(call), model,
        [&service, model, wanted, masks](Request& request, const Intake& images) {
            const Sent sent = sent_image(request);
            images.admit(sent.image);
            auto photo =
                std::make_shared<Image>(decoded_image(sent.image, "image", images, request));
            const Extent size{photo->width, photo->height};
            service.check_answer(wanted.bytes(size, *model));
            auto found = std::make_shared<DetectionWork>(
                *model->detector(),
                DetectOptions{.threshold = wanted.threshold, .most = wanted.most, .masks = masks});
            request.need(found->bytes_to_prepare(), "image");
            Work work{.taps = model->detector()->first_stage(),
                      .images = found->add(*photo),
                      .answer = wanted.bytes_to_write(size, *model),
                      .left = found->mask_bytes(),
                      .format = {}};
            found->check_mask_pixels();
            if (!wanted.overlay) photo->pixels = {};
            work.then = [model, found](const auto& outputs, std::int64_t image) {
                found->find(outputs, image);
            };
            work.format = [model, wanted, photo, found](const auto&) {
                return wanted.response(*model, *photo, found->found().front());
            };
            return work;
        });
}

}  // namespace

void add_detect_routes(Service& service) {
    service.router()
        .add("POST", "/detect", [&service](Call call) { detect(service, std::move(call)); })
        .before_body = [&service](const Request& head) {
        service.check_room(*detect_model(service, head.parameters()), head.arrived);
    };
}

}  // namespace cait::serve
