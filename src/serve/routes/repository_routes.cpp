// Triton's extensions for the operator of the server: which models there are, loading and
// unloading, statistics.
#include <fmt/format.h>

#include "base/display_name.h"
#include "serve/protocol/tensor_json.h"
#include "serve/routes/replies.h"
#include "serve/service.h"

namespace cait::serve {

namespace {

using nlohmann::json;

json duration_json(const Duration& duration) {
    return {{"count", duration.count}, {"ns", duration.nanoseconds}};
}

json statistics(const Repository::Entry& entry) {
    const StatsView view = entry.model->stats().view();
    json batches = json::array();
    for (const auto& [images, time] : view.by_batch)
        batches.push_back({{"batch_size", images},
                           {"compute_input", duration_json({})},
                           {"compute_infer", duration_json(time)},
                           {"compute_output", duration_json({})}});
    return {{"name", entry.name},
            {"version", entry.version},
            {"last_inference", view.last_milliseconds},
            {"inference_count", view.images},
            {"execution_count", view.batches},
            {"inference_stats",
             {{"success", duration_json(view.success)},
              {"fail", duration_json(view.fail)},
              {"queue", duration_json(view.queue)},
              {"compute_input", duration_json(view.input)},
              {"compute_infer", duration_json(view.infer)},
              {"compute_output", duration_json(view.output)}}},
            {"batch_stats", std::move(batches)}};
}

Response statistics(Service& service, const Call& call) {
    json list = json::array();
    if (!call.words().empty())
        service.repository().get(call.words()[0], call.words().size() > 1 ? call.words()[1] : "");
    for (const Repository::Entry& entry : service.repository().index()) {
        const bool wanted = call.words().empty() ||
                            (entry.name == call.words()[0] &&
                             (call.words().size() == 1 || entry.version == call.words()[1]));
        if (wanted && entry.ready) list.push_back(statistics(entry));
    }
    return json_response({{"model_stats", std::move(list)}});
}

// Read by the loop's thread, so little that it takes no time.
json small_body(const Request& request) {
    constexpr std::size_t kMost = 65'536;
    if (request.body.size() > kMost)
        throw HttpError(413, fmt::format("body: expected at most {} bytes here, found {}", kMost,
                                         request.body.size()));
    request.need(memory_to_parse(request.body), "body");
    return parse_small_json(request.body);
}

Response index(Service& service, const Request& request) {
    bool only_ready = false;
    if (!request.body.empty()) {
        const json wanted = small_body(request);
        if (!wanted.is_object()) throw HttpError(400, "request: expected an object");
        const auto found = wanted.find("ready");
        if (found != wanted.end() && !found->is_boolean())
            throw HttpError(400, "ready: expected true or false");
        only_ready = found != wanted.end() && found->get<bool>();
    }
    json list = json::array();
    for (const Repository::Entry& entry : service.repository().index())
        if (entry.ready || !only_ready)
            list.push_back({{"name", entry.name},
                            {"version", entry.version},
                            {"state", entry.ready ? "READY" : "UNAVAILABLE"},
                            {"reason", entry.reason}});
    return json_response(list);
}

// Files come from the command line alone: a client can neither name nor send one.
void check_control(const Service& service, const Request& request) {
    if (!service.options().may_control)
        throw HttpError(403,
                        "repository: to load and unload models, start the server with --token-file "
                        "or, where it listens on its own computer alone, with --control");
    if (request.body.empty()) return;
    const json wanted = small_body(request);
    if (!wanted.is_object()) throw HttpError(400, "request: expected an object");
    const auto parameters = wanted.find("parameters");
    if (parameters == wanted.end()) return;
    if (!parameters->is_object()) throw HttpError(400, "parameters: expected an object");
    for (const auto& [name, value] : parameters->items())
        if (name == "config" || name.starts_with("file:"))
            throw HttpError(501,
                            "parameters: a model's file and configuration are given when the "
                            "server is started");
}

}  // namespace

void add_repository_routes(Service& service) {
    Router& router = service.router();
    router.add("POST", "/v2/repository/index",
               [&service](Call call) { call.reply(index(service, *call.request)); });
    router.add("POST", "/v2/repository/models/{model}/load", [&service](Call call) {
        check_control(service, *call.request);
        const std::string name = call.words()[0];
        service.in_background(std::move(call), [&service, name] {
            try {
                service.repository().load(name);
            } catch (const HttpError&) {
                throw;
            } catch (const Error& error) {
                throw HttpError(400, fmt::format("model {}: {}", display_name(name),
                                                 service.repository().without_paths(error.what())));
            }
            return Response{.body = "{}"};
        });
    });
    router.add("POST", "/v2/repository/models/{model}/unload", [&service](Call call) {
        check_control(service, *call.request);
        const std::string name = call.words()[0];
        service.in_background(std::move(call), [&service, name] {
            service.repository().unload(name);
            return Response{.body = "{}"};
        });
    });
    // Before those of a model: this is no model's name.
    for (const char* path : {"/v2/models/stats", "/v2/models/{model}/stats",
                             "/v2/models/{model}/versions/{version}/stats"})
        router.add("GET", path, [&service](Call call) { call.reply(statistics(service, call)); });
}

}  // namespace cait::serve
