// POST /segment: a photograph is sent as it is, and the class of each of its pixels comes back, as
// a label PNG, as a picture or as JSON. Windows of the model's own size go through the engine like
// the images of any other request, so that they wait, are batched and are charged as these are.
#include <fmt/format.h>

#include <algorithm>

#include "evaluate/segment_classes.h"
#include "evaluate/segment_image.h"
#include "image/codec/encode.h"
#include "image/draw/palette.h"
#include "report/html.h"
#include "serve/http/query.h"
#include "serve/routes/replies.h"
#include "serve/routes/sent_image.h"
#include "serve/service.h"

namespace cait::serve {

namespace {

using nlohmann::json;

enum class SegmentForm { labels, overlay, areas };

ServedModelPtr segment_model(Service& service, const Parameters& parameters) {
    const std::string* name = parameters.find("model");
    const std::string* version = parameters.find("version");
    ServedModelPtr model =
        name == nullptr ? service.repository().standard()
                        : service.repository().get(*name, version == nullptr ? "" : *version);
    if (model->segmenter() == nullptr)
        throw HttpError(400, fmt::format("model {}: it gives pixels no classes, its task is {}",
                                         model->name(), model->model().task().name));
    return model;
}

// ?as= decides, then what the client accepts: an image means the label PNG.
SegmentForm segment_form(const Request& request) {
    if (const std::string* as = request.parameters().find("as"); as != nullptr) {
        if (*as == "labels") return SegmentForm::labels;
        if (*as == "overlay") return SegmentForm::overlay;
        if (*as == "json") return SegmentForm::areas;
        throw HttpError(400, "as: expected labels, overlay or json");
    }
    return accepts_png(request) ? SegmentForm::labels : SegmentForm::areas;
}

Response png_response(const std::vector<std::byte>& png) {
    return {.type = "image/png",
            .body = std::string(reinterpret_cast<const char*>(png.data()), png.size())};
}

Image label_pixels(const SegmentedImage& found) {
    return {found.labels.width, found.labels.height, 1, found.labels.values};
}

// {"width", "height", "png": data URI of a grey picture whose values are classes, "areas":
// [{"label",
//  "index", "pixels", "share", "colour"}]}, the largest first.
json segments_json(const SegmentClasses& classes, const SegmentedImage& found) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < found.areas.size(); ++i)
        if (found.areas[i] > 0) order.push_back(i);
    std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return found.areas[i]; });
    json areas = json::array();
    for (const std::size_t i : order)
        areas.push_back({{"label", classes.names[i]},
                         {"index", i},
                         {"pixels", found.areas[i]},
                         {"share", double(found.areas[i]) / double(found.labels.values.size())},
                         {"colour", classes.colours[i]}});
    return {{"width", found.labels.width},
            {"height", found.labels.height},
            {"png", png_uri(label_pixels(found))},
            {"areas", std::move(areas)}};
}

// What is in memory when the answer is written: the photograph for an overlay, the labels, and the
// answer, which is no longer than its pixels by much.
std::uint64_t segment_bytes(Extent size, SegmentForm form) {
    const std::uint64_t pixels = std::uint64_t(size.width) * std::uint64_t(size.height);
    constexpr std::uint64_t kHead = 65'536;
    switch (form) {
        case SegmentForm::labels: return kHead + 3 * pixels;
        case SegmentForm::areas: return kHead + 5 * pixels;
        case SegmentForm::overlay: break;
    }
    return kHead + 11 * pixels;
}

// Of these, what goes to the client.
std::uint64_t segment_answer(Extent size, SegmentForm form) {
    const std::uint64_t pixels = std::uint64_t(size.width) * std::uint64_t(size.height);
    return form == SegmentForm::labels  ? pixels
           : form == SegmentForm::areas ? 4 * pixels / 3
                                        : 3 * pixels;
}

void segment(Service& service, Call call) {
    const Parameters& parameters = call.request->parameters();
    parameters.allow({"as", "model", "version"});
    const ServedModelPtr model = segment_model(service, parameters);
    const SegmentForm form = segment_form(*call.request);
    service.compute(
        std::move(call), model, [&service, model, form](Request& request, const Intake& images) {
            const Sent sent = sent_image(request);
            images.admit(sent.image);
            const ImageSegmenter& segmenter = *model->segmenter();
            auto photo =
                std::make_shared<Image>(decoded_image(sent.image, "image", images, request));
            const Extent size{photo->width, photo->height};
            service.check_answer(segment_answer(size, form));
            const std::size_t windows = segmenter.window_count(size);
            images.admit(windows);
            const auto [height, width] = model->image_size();
            request.need(windows * std::size_t(3 * height * width) * sizeof(float), "windows");
            Work work{.taps = {std::string(kSegmentationTap)},
                      .images = segmenter.windows(*photo),
                      .answer = segment_bytes(size, form),
                      .format = {}};
            if (form != SegmentForm::overlay) photo->pixels = {};
            work.format = [model, form, photo, size](const auto& outputs) {
                const SegmentedImage found =
                    model->segmenter()->assemble(size, outputs.at(std::string(kSegmentationTap)));
                const SegmentClasses& classes = model->dense_classes();
                switch (form) {
                    case SegmentForm::labels:
                        return png_response(
                            encode_palette_png(label_pixels(found), classes.colours));
                    case SegmentForm::overlay:
                        return png_response(encode_png(
                            label_overlay(*photo, found.labels.values, classes.colours)));
                    case SegmentForm::areas: break;
                }
                return json_response(segments_json(classes, found));
            };
            return work;
        });
}

}  // namespace

void add_segment_routes(Service& service) {
    service.router()
        .add("POST", "/segment", [&service](Call call) { segment(service, std::move(call)); })
        .before_body = [&service](const Request& head) {
        service.check_room(*segment_model(service, head.parameters()), head.arrived);
    };
}

}  // namespace cait::serve
