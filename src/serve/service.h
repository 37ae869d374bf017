// What the server does, without sockets: finds the handler of a request, lets it in or refuses it,
// and takes it from worker to engine and back.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "serve/engine/admission.h"
#include "serve/engine/batcher.h"
#include "serve/engine/intake.h"
#include "serve/engine/repository.h"
#include "serve/engine/worker_pool.h"
#include "serve/http/host_rule.h"
#include "serve/http/limits.h"
#include "serve/http/router.h"
#include "serve/server_stats.h"

namespace cait::serve {

class ImageSearch;

struct ServiceOptions {
    EngineOptions engine{};
    std::size_t workers = 1;                     // that parse and decode
    double delay = 0;                            // seconds that a batch may wait to fill
    std::string token{};                         // that clients must show; empty: none
    bool may_control = false;                    // clients may load and unload models
    HostRule hosts{};                            // by which names it may be called
    std::size_t body = std::size_t{64} << 20;    // bytes after decompression
    std::size_t answer = std::size_t{64} << 20;  // bytes of one answer
    std::shared_ptr<MemoryAccount> memory = MemoryAccount::of_process();
    PixelLimits pixels{};
    std::shared_ptr<const ImageSearch> search{};          // nothing: no /search
    std::function<void(const std::string& text)> note{};  // hears of loading, from any thread
};

// What a request wants of the engine.
struct Work {
    std::vector<std::string> taps;  // rising
    Tensor images;
    std::shared_ptr<TranslationWork> text{};  // in place of these two
    std::optional<double> timeout{};          // seconds, where it wants it sooner than the bound
    std::uint64_t answer = 0;  // bytes that format() gives; 0: little for each output
    // Of Job (engine/batcher.h): what remains to be computed of an image, and bytes that it leaves.
    std::function<void(const std::map<std::string, Tensor>& outputs, std::int64_t image)> then{};
    std::uint64_t left = 0;
    // Gets no outputs where there is `then` or `text`.
    std::function<Response(const std::map<std::string, Tensor>& outputs)> format;
};

class Service {
public:
    Service(std::vector<ModelSource> sources, ServiceOptions options);
    ~Service();

    // Before the body is read; finds the request's route. Nothing: go on.
    std::optional<Response> check_head(Request& head);
    // Answers at once, or later from another thread.
    void handle(std::shared_ptr<Request> request, Reply reply);

    void load_all() { begin_loading().get(); }
    std::future<void> begin_loading();  // in the background; its value throws Error
    void reload();  // in the background; what fails is noted, and the old model stays

    // Not ready any more, but everybody is answered; who waits for a model to be loaded, by 503.
    void begin_drain();
    // Nobody waits for answers any more: ends what can be ended, waits for the rest, but not for
    // longer than this. False: something still runs, and the destructor would wait for it.
    bool stop(std::chrono::milliseconds patience);
    bool ready() const { return !draining_ && repository_.ready(); }
    void count_connections(std::function<std::size_t()> count) { connections_ = std::move(count); }
    std::size_t connections() const { return connections_ ? connections_() : 0; }
    // An exception that nobody expected, wherever it was: counted and noted. Throws nothing.
    void report_fault(std::string_view what) noexcept;

    // ---- for the endpoints

    Router& router() { return router_; }
    Repository& repository() { return repository_; }
    const Admission& admission() const { return admission_; }
    ServerStats& stats() { return stats_; }
    const ServiceOptions& options() const { return options_; }

    // Throws HttpError(503) where a request for this model would be refused anyway: nobody need
    // send the rest of it.
    void check_room(const ServedModel& model, Clock::time_point arrived) const;
    // Throws HttpError(413) for an answer beyond the limit.
    void check_answer(std::uint64_t bytes) const;
    // On a worker: `prepare` reads the request and says what to compute. It has images admitted
    // before it decodes them.
    using Prepare = std::function<Work(Request& request, const Intake& images)>;
    void compute(Call call, ServedModelPtr model, Prepare prepare);
    // On the thread that loads models.
    void in_background(Call call, std::function<Response()> work);
    // On a thread that makes small pictures and delays nobody else; 503 where many wait for it.
    void draw(Call call, std::function<Response()> work);

private:
    struct Task;
    void begin(const std::shared_ptr<Task>& task);
    void finish(const std::shared_ptr<Task>& task, Outcome outcome);
    void fail(const std::shared_ptr<Task>& task, std::exception_ptr error, bool in_engine);
    Intake intake_of(const std::shared_ptr<Task>& task);
    void find_route(Request& request) const;
    void load_now();
    void report_current_fault() noexcept;
    std::uint64_t bytes_to_compute(const ServedModel& model, const Work& work) const;
    void note(const std::string& text) const;

    ServiceOptions options_;
    Router router_;
    ServerStats stats_;
    Repository repository_;
    Admission admission_;
    DecodeTime decode_time_;
    std::atomic<bool> draining_ = false, stopping_ = false, reload_waits_ = false;
    std::function<std::size_t()> connections_;
    // Ended in the opposite order: the loader, then the engine, whose last results the workers
    // still write down.
    WorkerPool workers_;
    Batcher batcher_;
    WorkerPool loader_;
    std::atomic<std::size_t> undrawn_ = 0;
    WorkerPool renderer_;
};

// What an exception means to a client.
Response response_for(const std::exception_ptr& error, bool in_engine = false);

// Routes, by subject.
void add_protocol_routes(Service& service);    // /v2: health, metadata, infer
void add_repository_routes(Service& service);  // /v2/repository
void add_image_routes(Service& service);       // /classify, /embed
void add_segment_routes(Service& service);     // /segment
void add_detect_routes(Service& service);      // /detect
void add_translate_routes(Service& service);   // /translate
void add_search_routes(Service& service);      // /search
void add_insight_routes(Service& service);     // /metrics, /stats, /openapi.json, /

}  // namespace cait::serve
