// POST /translate: lines of text are sent, plain or as JSON, and come back in the other language:
// with scores, pieces and where the decoder looked, or as plain lines again. Lines go through the
// same queue as the images of other requests, together with those that want the same, so that both
// wait, are timed and are charged alike.
#include <fmt/format.h>

#include <memory>

#include "serve/engine/translation_work.h"
#include "serve/http/query.h"
#include "serve/protocol/multipart.h"
#include "serve/protocol/tensor_json.h"
#include "serve/protocol/translate_request.h"
#include "serve/routes/translate_answer.h"
#include "serve/service.h"

namespace cait::serve {

namespace {

ServedModelPtr translate_model(Service& service, const Parameters& parameters) {
    const std::string* name = parameters.find("model");
    const std::string* version = parameters.find("version");
    ServedModelPtr model =
        name == nullptr ? service.repository().standard()
                        : service.repository().get(*name, version == nullptr ? "" : *version);
    if (model->translator() == nullptr)
        throw HttpError(400, fmt::format("model {}: it does not translate, its task is {}",
                                         model->name(), model->model().task().name));
    return model;
}

// What the query says; a JSON body may say otherwise.
TranslateWish wish_of_query(const Parameters& parameters) {
    constexpr std::size_t kMost = ServedTranslator::kMostBeam;
    const TranslateWish usual;
    return {.beam = parameters.number("beam", usual.beam, 1, kMost),
            .best = parameters.number("best", usual.best, 1, kMost),
            .length_penalty = parameters.decimal("length_penalty", usual.length_penalty, 0,
                                                 ServedTranslator::kMostPenalty),
            .attention = parameters.flag("attention")};
}

// ?as= decides, then what the client accepts.
bool wants_lines(const Request& request) {
    if (const std::string* as = request.parameters().find("as"); as != nullptr) {
        if (*as == "text") return true;
        if (*as == "json") return false;
        throw HttpError(400, "as: expected json or text");
    }
    const std::string* accept = request.field("accept");
    return accept != nullptr && accept->find("text/plain") != std::string::npos;
}

// JSON where the client says so, or where it says nothing of either and it looks like it: programs
// that send a body without a type call it something of their own.
bool is_json(const Request& request) {
    const std::string* type = request.field("content-type");
    if (type != nullptr && type->starts_with("application/json")) return true;
    if (type != nullptr && type->starts_with("text/plain")) return false;
    if (type != nullptr && is_multipart(*type))
        throw HttpError(415, "Content-Type: expected application/json or text/plain");
    const std::size_t first = request.body.find_first_not_of(" \t\r\n");
    return first != std::string::npos && request.body[first] == '{';
}

TranslateRequest sent_text(const Request& request, const TranslateWish& wish) {
    if (is_json(request)) {
        request.need(memory_to_parse(request.body) + request.body.size(), "body");
        return translate_request_of(request.body, wish);
    }
    constexpr std::string_view kMark = "\xEF\xBB\xBF";  // of UTF-8, which some editors write
    std::string_view text = request.body;
    if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
    request.need(text.size(), "body");
    check_wish(wish);
    return {lines_of(text), wish};
}

void translate(Service& service, Call call) {
    const Parameters& parameters = call.request->parameters();
    parameters.allow({"as", "beam", "best", "length_penalty", "attention", "model", "version"});
    const ServedModelPtr model = translate_model(service, parameters);
    const TranslateWish asked = wish_of_query(parameters);
    const bool lines = wants_lines(*call.request);
    service.compute(
        std::move(call), model,
        [&service, model, asked, lines](Request& request, const Intake& rows) {
            TranslateRequest sent = sent_text(request, asked);
            if (lines && (sent.wish.best > 1 || sent.wish.attention))
                throw HttpError(400,
                                "as: expected json for more than one translation of a line, "
                                "and for attention");
            const auto work = std::make_shared<TranslationWork>(*model->translator(), sent.wish,
                                                                std::move(sent.lines));
            const std::uint64_t answer = translations_bytes(*work);
            service.check_answer(answer);
            rows.admit(work->units());
            return Work{.taps = {},
                        .images = {},
                        .text = work,
                        .answer = 3 * answer,  // a tree, its text, and what that grew from
                        .format = [model, work, lines](const auto&) {
                            return lines ? translations_text(*work)
                                         : translations_json(*model, *work);
                        }};
        });
}

}  // namespace

void add_translate_routes(Service& service) {
    service.router()
        .add("POST", "/translate", [&service](Call call) { translate(service, std::move(call)); })
        .before_body = [&service](const Request& head) {
        service.check_room(*translate_model(service, head.parameters()), head.arrived);
    };
}

}  // namespace cait::serve
