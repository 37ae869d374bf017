// The Open Inference Protocol, version 2: health, what a model is, and inference.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/version.h"
#include "image/codec/decode.h"
#include "models/finite_logits.h"
#include "serve/engine/detection_work.h"
#include "serve/engine/translation_work.h"
#include "serve/http/query.h"
#include "serve/memory_account.h"
#include "serve/protocol/detect_response.h"
#include "serve/protocol/infer_request.h"
#include "serve/protocol/infer_response.h"
#include "serve/protocol/translate_response.h"
#include "serve/routes/replies.h"
#include "serve/service.h"

namespace cait::serve {

namespace {

using nlohmann::json;

// The words of a path: name and, where it has one, version.
ServedModelPtr model_of(Service& service, const std::vector<std::string>& words) {
    return service.repository().get(words.at(0), words.size() > 1 ? words[1] : "");
}

json tensor_json(const std::string& name, const char* type, const Shape& shape) {
    return {{"name", name}, {"datatype", type}, {"shape", shape.extents()}};
}

Shape images_shape(const ServedModel& model) {
    return {Shape::kBatch, 3, model.image_size().height, model.image_size().width};
}

json inputs_json(const ServedModel& model) {
    if (model.translator() != nullptr)
        return json::array({tensor_json(kTextInput, "BYTES", {Shape::kBatch})});
    return json::array({tensor_json(kImagesInput, "FP32", images_shape(model)),
                        tensor_json(kEncodedInput, "BYTES", {Shape::kBatch})});
}

// Facts about a model by name, all of them texts.
std::map<std::string, std::string> facts_of(const ServedModel& model) {
    std::map<std::string, std::string> facts{{"precision", model.precision()}};
    if (model.translator() == nullptr) return facts;
    const Translator& translator = model.translator()->translator();
    facts["source_language"] = translator.source_language();
    facts["target_language"] = translator.target_language();
    return facts;
}

Response metadata(Service& service, const ServedModel& model) {
    json outputs = json::array();
    for (const TapInfo& output : model.outputs())
        outputs.push_back(tensor_json(output.name, output.type, output.shape));
    return json_response({{"name", model.name()},
                          {"versions", service.repository().versions(model.name())},
                          {"platform", "cait"},
                          {"parameters", facts_of(model)},
                          {"inputs", inputs_json(model)},
                          {"outputs", std::move(outputs)}});
}

// Triton has another name for texts.
std::string triton_type(const TapInfo& output) {
    const std::string_view type = output.type;
    return fmt::format("TYPE_{}", type == "BYTES" ? "STRING" : type);
}

json config_inputs(const ServedModel& model) {
    if (model.translator() != nullptr)
        return json::array({{{"name", kTextInput},
                             {"data_type", "TYPE_STRING"},
                             {"format", "FORMAT_NONE"},
                             {"dims", {-1}}}});
    return json::array({{{"name", kImagesInput},
                         {"data_type", "TYPE_FP32"},
                         {"format", "FORMAT_NCHW"},
                         {"optional", true},
                         {"dims", images_shape(model).extents()}},
                        {{"name", kEncodedInput},
                         {"data_type", "TYPE_STRING"},
                         {"format", "FORMAT_NONE"},
                         {"optional", true},
                         {"dims", {-1}}}});
}

// As Triton describes a model.
Response config(Service& service, const ServedModel& model) {
    json outputs = json::array();
    for (const TapInfo& output : model.outputs())
        outputs.push_back({{"name", output.name},
                           {"data_type", triton_type(output)},
                           {"dims", output.shape.extents()}});
    json facts = json::object();
    for (const auto& [name, text] : facts_of(model)) facts[name] = {{"string_value", text}};
    const double delay = service.options().delay;
    return json_response(
        {{"name", model.name()},
         {"platform", "cait"},
         {"backend", "cait"},
         {"version_policy", {{"all", json::object()}}},
         {"max_batch_size", 0},
         {"parameters", std::move(facts)},
         {"input", config_inputs(model)},
         {"output", std::move(outputs)},
         {"dynamic_batching",
          {{"preferred_batch_size", {model.batch()}},
           {"max_queue_delay_microseconds", std::int64_t(delay * 1e6)}}},
         {"instance_group",
          json::array({{{"kind", "KIND_CPU"}, {"count", 1}, {"name", model.name()}}})}});
}

// The protocol knows no 422.
void with_statuses_of_protocol(const std::function<void()>& decode) {
    try {
        decode();
    } catch (const ImageError& error) {
        throw HttpError(error.why() == ImageError::Why::too_large ? 413 : 400, error.what());
    }
}

void infer_taps(Service& service, Call call, const ServedModelPtr& model) {
    service.compute(
        std::move(call), model, [&service, model](Request& request, const Intake& images) {
            request.parameters().allow({});
            auto parsed = std::make_shared<InferRequest>(parse_infer_request(request, *model));
            const std::uint64_t answer = answer_bytes(*parsed, *model, parsed->count());
            service.check_answer(answer);
            request.need(answer, "answer");
            Work work{.taps = parsed->taps(),
                      .images = parsed->images,
                      .timeout = parsed->timeout,
                      .answer = answer,
                      .format = {}};
            if (work.images.defined()) {
                images.admit(parsed->count());
            } else {
                with_statuses_of_protocol([&] {
                    images.admit(parsed->encoded);
                    work.images = prepared_images(*model, parsed->encoded, images, request);
                });
                parsed->encoded.clear();
            }
            parsed->images = {};
            work.format = [model, parsed](const std::map<std::string, Tensor>& outputs) {
                return infer_response(*parsed, *model, outputs);
            };
            return work;
        });
}

// The files one after the other, each ready for the network.
Tensor images_for_detector(DetectionWork& found, const ServedModel& model, InferRequest& parsed,
                           const Intake& images, Request& request) {
    const auto [height, width] = model.image_size();
    const std::size_t each = std::size_t(3 * height * width) * sizeof(float);
    request.need(parsed.count() * each + found.bytes_to_prepare(), "images");
    const std::uint64_t before = request.memory ? request.memory->bytes() : 0;
    Tensor all = Tensor::empty(DType::f32, {std::int64_t(parsed.count()), 3, height, width});
    for (std::size_t i = 0; i < parsed.count(); ++i) {
        if (request.memory) request.memory->lower_to(before);  // the last one is gone
        const Tensor one =
            found.add(decoded_image(parsed.encoded[i], image_name(i), images, request));
        std::memcpy(all.mutable_bytes().data() + i * each, one.bytes(), each);
    }
    return all;
}

void infer_objects(Service& service, Call call, const ServedModelPtr& model) {
    service.compute(
        std::move(call), model, [&service, model](Request& request, const Intake& images) {
            request.parameters().allow({});
            auto parsed = std::make_shared<InferRequest>(parse_infer_request(request, *model));
            const bool masks =
                std::ranges::count(parsed->outputs, "masks", &RequestedOutput::name) > 0;
            const std::uint64_t answer = detect_answer_bytes(*parsed, *model, parsed->count());
            service.check_answer(answer);
            auto found =
                std::make_shared<DetectionWork>(*model->detector(), DetectOptions{.masks = masks});
            Work work{.taps = model->detector()->first_stage(),
                      .images = parsed->images,
                      .timeout = parsed->timeout,
                      .answer = 2 * answer,  // tensors, and their text
                      .format = {}};
            if (work.images.defined()) {
                images.admit(parsed->count());
                const float largest =
                    parsed->largest.value_or(largest_magnitude(parsed->images.floats()));
                for (std::size_t i = 0; i < parsed->count(); ++i) found->add_prepared(largest);
            } else {
                with_statuses_of_protocol([&] {
                    images.admit(parsed->encoded);
                    work.images = images_for_detector(*found, *model, *parsed, images, request);
                });
                if (masks) found->check_mask_pixels();
                parsed->encoded.clear();
            }
            parsed->images = {};
            if (masks) work.left = found->mask_bytes();
            work.then = [model, found](const auto& outputs, std::int64_t image) {
                found->find(outputs, image);
            };
            work.format = [model, parsed, found](const auto&) {
                return detect_response(*parsed, *model, found->found());
            };
            return work;
        });
}

void infer_texts(Service& service, Call call, const ServedModelPtr& model) {
    service.compute(
        std::move(call), model, [&service, model](Request& request, const Intake& rows) {
            request.parameters().allow({});
            auto parsed = std::make_shared<InferRequest>(parse_infer_request(request, *model));
            const auto work = std::make_shared<TranslationWork>(*model->translator(), parsed->wish,
                                                                std::move(parsed->texts));
            const std::uint64_t answer = translate_answer_bytes(*parsed, *model, *work);
            service.check_answer(answer);
            rows.admit(work->units());
            return Work{.taps = {},
                        .images = {},
                        .text = work,
                        .timeout = parsed->timeout,
                        .answer = 2 * answer,  // texts, and their answer
                        .format = [model, parsed, work](const auto&) {
                            return translate_response(*parsed, *model, work->found());
                        }};
        });
}

// By what the model is for.
void infer(Service& service, Call call) {
    const ServedModelPtr model = model_of(service, call.words());
    const auto way = model->translator() ? infer_texts
                     : model->detector() ? infer_objects
                                         : infer_taps;
    way(service, std::move(call), model);
}

Response ready(bool is) {
    Response response = json_response({{"ready", is}, {"live", true}});
    if (!is) response.status = 503;
    return response;
}

void add_health(Service& service) {
    Router& router = service.router();
    router.add("GET", "/v2", [](Call call) {
        call.reply(json_response({{"name", "cait"},
                                  {"version", version()},
                                  {"extensions",
                                   {"classification", "model_configuration", "model_repository",
                                    "binary_tensor_data", "statistics"}}}));
    });
    router
        .add("GET", "/v2/health/live",
             [](Call call) {
                 call.reply(json_response({{"live", true}}));
             })
        .is_open = true;
    router
        .add("GET", "/v2/health/ready",
             [&service](Call call) { call.reply(ready(service.ready())); })
        .is_open = true;
}

}  // namespace

void add_protocol_routes(Service& service) {
    add_health(service);
    for (const char* model : {"/v2/models/{model}", "/v2/models/{model}/versions/{version}"}) {
        const std::string path = model;
        Router& router = service.router();
        router.add("GET", path + "/ready", [&service](Call call) {
            bool is = false;
            try {
                model_of(service, call.words());
                is = true;
            } catch (const HttpError& error) {
                if (error.status() == 404) throw;
            }
            Response response = json_response({{"name", call.words()[0]}, {"ready", is}});
            if (!is) response.status = 503;
            call.reply(std::move(response));
        });
        router.add("GET", path + "/config", [&service](Call call) {
            call.reply(config(service, *model_of(service, call.words())));
        });
        router
            .add("POST", path + "/infer",
                 [&service](Call call) { infer(service, std::move(call)); })
            .before_body = [&service](const Request& head) {
            service.check_room(*model_of(service, head.words), head.arrived);
        };
        router.add("GET", path, [&service](Call call) {
            call.reply(metadata(service, *model_of(service, call.words())));
        });
    }
}

}  // namespace cait::serve
