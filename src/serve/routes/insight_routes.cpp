// What the server says about itself: /metrics for Prometheus, /stats for people and pages, its
// description, and the page.
#include <fmt/format.h>

#include <iterator>

#include "image/draw/colour_map.h"
#include "serve/assets/assets.h"
#include "serve/routes/replies.h"
#include "serve/service.h"

namespace cait::serve {

namespace {

using nlohmann::json;

// As the text format wants names between quotes.
std::string label_text(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '\\' || c == '"') result += '\\';
        result += c == '\n' ? ' ' : c;
    }
    return result;
}

// One family of the text format.
class Metric {
public:
    Metric(std::string& out, std::string_view name, std::string_view kind, std::string_view help)
        : out_(out), name_(name) {
        out_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, kind);
    }
    template <class Number>
    void add(std::string_view labels, Number value, std::string_view suffix = "") {
        out_ += fmt::format("{}{}{}{}{} {}\n", name_, suffix, labels.empty() ? "" : "{", labels,
                            labels.empty() ? "" : "}", value);
    }

private:
    std::string& out_;
    std::string name_;
};

struct ModelView {
    std::string labels;  // model="a",version="1"
    StatsView view;
};

void add_counts(std::string& out, const std::vector<ModelView>& models) {
    const auto family = [&](const char* name, const char* help, const auto& value) {
        Metric metric(out, name, "counter", help);
        for (const ModelView& one : models) metric.add(one.labels, value(one.view));
    };
    family("nv_inference_request_success", "Requests that were answered",
           [](const StatsView& v) { return v.success.count; });
    {
        Metric metric(out, "nv_inference_request_failure", "counter", "Requests that failed");
        for (const ModelView& one : models)
            for (std::size_t i = 0; i < kFailureNames.size(); ++i)
                metric.add(fmt::format("{},reason=\"{}\"", one.labels, kFailureNames[i]),
                           one.view.failures[i]);
    }
    family("nv_inference_count", "Images or lines that were answered",
           [](const StatsView& v) { return v.images; });
    family("nv_inference_exec_count", "Batches that were run",
           [](const StatsView& v) { return v.batches; });
    const auto microseconds = [&](const char* name, const char* help, Duration StatsView::*which) {
        family(name, help, [&](const StatsView& v) { return (v.*which).nanoseconds / 1000; });
    };
    microseconds("nv_inference_request_duration_us", "Time of answered requests",
                 &StatsView::success);
    microseconds("nv_inference_queue_duration_us", "Time spent waiting for the engine",
                 &StatsView::queue);
    microseconds("nv_inference_compute_input_duration_us", "Time spent on reading and decoding",
                 &StatsView::input);
    microseconds("nv_inference_compute_infer_duration_us", "Time spent in the engine",
                 &StatsView::infer);
    microseconds("nv_inference_compute_output_duration_us", "Time spent on writing answers",
                 &StatsView::output);
}

void add_server(std::string& out, Service& service) {
    const ServerStats::View view = service.stats().view();
    {
        Metric metric(out, "cait_http_responses_total", "counter", "Answers by status");
        for (const auto& [status, count] : view.by_status)
            metric.add(fmt::format("status=\"{}\"", status), count);
    }
    {
        Metric metric(out, "cait_http_request_seconds", "histogram",
                      "Time from the first byte of a request to its answer");
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < view.by_time.size(); ++i) {
            sum += view.by_time[i];
            const std::string limit = i < ServerStats::kBuckets.size()
                                          ? fmt::format("{}", ServerStats::kBuckets[i])
                                          : "+Inf";
            metric.add(fmt::format("le=\"{}\"", limit), sum, "_bucket");
        }
        metric.add("", view.seconds, "_sum");
        metric.add("", sum, "_count");
    }
    const auto gauge = [&](const char* name, const char* help, auto value) {
        Metric(out, name, "gauge", help).add("", value);
    };
    gauge("cait_connections", "Open connections", service.connections());
    gauge("cait_queue_seconds", "Work that has been accepted and not done",
          service.admission().waiting());
    gauge("cait_memory_bytes", "Memory that requests hold", service.options().memory->used());
    gauge("cait_memory_limit_bytes", "Memory that requests may hold",
          service.options().memory->limit());
    Metric(out, "cait_faults_total", "counter", "Errors that should not happen")
        .add("", view.faults);
    gauge("cait_ready", "1 when requests are welcome", service.ready() ? 1 : 0);
    gauge("cait_uptime_seconds", "Time since the start", view.uptime);
}

Response metrics(Service& service) {
    std::vector<ModelView> models;
    for (const Repository::Entry& entry : service.repository().index())
        if (entry.ready)
            models.push_back({fmt::format("model=\"{}\",version=\"{}\"", label_text(entry.name),
                                          label_text(entry.version)),
                              entry.model->stats().view()});
    std::string out;
    add_counts(out, models);
    Metric(out, "nv_inference_pending_request_count", "gauge",
           "Requests that were accepted and wait for their answer")
        .add("", service.admission().requests());
    add_server(out, service);
    return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = std::move(out)};
}

json model_json(const Repository::Entry& entry) {
    json model{{"name", entry.name}, {"version", entry.version}, {"ready", entry.ready}};
    if (!entry.ready) return model;
    const ServedModel& served = *entry.model;
    const StatsView view = served.stats().view();
    model["architecture"] = served.model().info().name;
    model["precision"] = served.precision();
    model["task"] = served.model().task().name;
    if (const ServedTranslator* text = served.translator(); text != nullptr) {
        model["source"] = text->translator().source_language();
        model["target"] = text->translator().target_language();
        model["pieces"] = text->pieces();
        model["longest"] = text->translator().longest();
    } else {
        model["image_size"] = {served.image_size().height, served.image_size().width};
    }
    model["attention_layers"] = served.attention_taps().size();
    model["requests"] = view.success.count;
    model["refused"] = view.failures[std::size_t(Failure::rejected)];
    model["images"] = view.images;
    model["batches"] = view.batches;
    model["images_per_second"] = view.images_per_second;
    model["latency_ms"] = {
        {"p50", 1e3 * view.p50}, {"p90", 1e3 * view.p90}, {"p99", 1e3 * view.p99}};
    model["bound_ms"] = 1e3 * served.bound();
    model["service_ms"] = 1e3 * served.seconds(1);
    model["batch"] = served.batch();
    model["batch_ms"] = 1e3 * served.seconds(served.batch());
    return model;
}

Response stats(Service& service) {
    json models = json::array();
    for (const Repository::Entry& entry : service.repository().index())
        models.push_back(model_json(entry));
    const ServerStats::View view = service.stats().view();
    const MemoryAccount& memory = *service.options().memory;
    return json_response({{"ready", service.ready()},
                          {"uptime_seconds", view.uptime},
                          {"faults", view.faults},
                          {"memory", {{"used", memory.used()}, {"limit", memory.limit()}}},
                          {"connections", service.connections()},
                          {"pending", service.admission().requests()},
                          {"queue_ms", 1e3 * service.admission().waiting()},
                          {"search", service.options().search != nullptr},
                          {"models", std::move(models)}});
}

// The page draws by itself, in the colours of `cait attend`.
Response colours() {
    const auto table = [](Colour (*colour)(double)) {
        json list = json::array();
        for (int i = 0; i < 256; ++i) list.push_back(colour(i / 255.0));
        return list;
    };
    return json_response({{"heat", table(heat_colour)}, {"saliency", table(cividis_colour)}});
}

}  // namespace

void add_insight_routes(Service& service) {
    Router& router = service.router();
    router.add("GET", "/metrics", [&service](Call call) { call.reply(metrics(service)); });
    router.add("GET", "/stats", [&service](Call call) { call.reply(stats(service)); });
    router.add("GET", "/colours.json", [](Call call) { call.reply(colours()); }).is_open = true;
    for (const Asset& asset : assets())
        router
            .add("GET", asset.path,
                 [&asset](Call call) {
                     Response response{.type = std::string(asset.type),
                                       .body = std::string(asset.content)};
                     response.fields.push_back(
                         {"Content-Security-Policy",
                          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' "
                          "data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
                          "frame-ancestors 'none'"});
                     response.fields.push_back({"Referrer-Policy", "no-referrer"});
                     call.reply(std::move(response));
                 })
            .is_open = true;
}

}  // namespace cait::serve
