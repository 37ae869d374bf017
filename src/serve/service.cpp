#include "serve/service.h"

#include <fmt/format.h>

#include <thread>

#include "base/display_name.h"
#include "image/codec/decode.h"
#include "serve/image_search.h"
#include "serve/memory_account.h"
#include "serve/protocol/inflate.h"

namespace cait::serve {

namespace {

// As long for a wrong word as for the right one.
bool same_secret(std::string_view a, std::string_view b) {
    unsigned difference = a.size() != b.size() ? 1 : 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        difference |= unsigned(a[i] ^ (b.empty() ? char(0) : b[i % b.size()]));
    return difference == 0;
}

bool has_token(const Request& head, const std::string& token) {
    constexpr std::string_view kBearer = "Bearer ";
    const std::string* field = head.field("authorization");
    return field != nullptr && field->starts_with(kBearer) &&
           same_secret(std::string_view(*field).substr(kBearer.size()), token);
}

// Pages of other sites must not use a server that only this browser can reach. `Host` is one of the
// server's own names.
bool is_foreign(const Request& head) {
    const std::string* origin = head.field("origin");
    if (origin == nullptr) return false;
    const std::string* host = head.field("host");
    const std::size_t scheme = origin->find("://");
    return host == nullptr || scheme == std::string::npos || origin->substr(scheme + 3) != *host;
}

double seconds_since(Clock::time_point then) {
    return std::chrono::duration<double>(Clock::now() - then).count();
}

ServiceOptions with_one_account(ServiceOptions options) {
    options.engine.memory = options.memory;
    return options;
}

void answer(const Call& call, const std::function<Response()>& work) {
    try {
        call.reply(work());
    } catch (...) {
        call.reply(response_for(std::current_exception()));
    }
}

}  // namespace

Response response_for(const std::exception_ptr& error, bool in_engine) {
    try {
        std::rethrow_exception(error);
    } catch (const HttpError& refused) {
        return error_response(refused.status(), refused.what());
    } catch (const DecodingStopped&) {
        return error_response(503, "server: too busy to answer in time");
    } catch (const ImageError& image) {
        return error_response(image.why() == ImageError::Why::too_large ? 413 : 422, image.what());
    } catch (const UsageError& usage) {
        return error_response(400, usage.what());
    } catch (const Error& data) {
        return error_response(in_engine ? 500 : 400, data.what());
    } catch (const std::bad_alloc&) {
        return error_response(503, "server: out of memory");
    } catch (...) {
        return error_response(500, "server: an error that should not happen");
    }
}

// A request on its way through workers and engine.
struct Service::Task {
    Call call;
    ServedModelPtr model;
    Prepare prepare;
    std::shared_ptr<Admission::Ticket> ticket;
    Clock::time_point arrived = Clock::now();
    Clock::time_point deadline = arrived + std::chrono::duration_cast<Clock::duration>(
                                               std::chrono::duration<double>(model->bound()));
    double input = 0;
    std::size_t images = 1;
    std::function<Response(const std::map<std::string, Tensor>&)> format{};
};

Service::Service(std::vector<ModelSource> sources, ServiceOptions options)
    : options_(with_one_account(std::move(options))),
      repository_(std::move(sources), options_.engine),
      workers_(options_.workers, [this] { report_current_fault(); }),
      batcher_(options_.delay, [this] { report_current_fault(); }),
      loader_(1, [this] { report_current_fault(); }),
      renderer_(1, [this] { report_current_fault(); }) {
    add_repository_routes(*this);  // before a model's name can stand for anything
    add_protocol_routes(*this);
    add_image_routes(*this);
    add_segment_routes(*this);
    add_detect_routes(*this);
    add_translate_routes(*this);
    add_search_routes(*this);
    add_insight_routes(*this);
}

Service::~Service() = default;

void Service::note(const std::string& text) const {
    if (options_.note) options_.note(text);
}

void Service::report_fault(std::string_view what) noexcept {
    try {
        if (stats_.add_fault()) note(fmt::format("an error that should not happen: {}", what));
    } catch (...) {  // no memory to say so
        return;
    }
}

void Service::report_current_fault() noexcept {
    try {
        throw;
    } catch (const std::exception& error) {
        report_fault(error.what());
    } catch (...) {
        report_fault("unknown");
    }
}

void Service::find_route(Request& request) const {
    Router::Found found = router_.find(request.method, request.path());
    request.route = found.route;
    request.words = std::move(found.words);
}

std::optional<Response> Service::check_head(Request& head) {
    try {
        const std::string* host =
            head.field("host");  // missing in HTTP/1.0, which no browser speaks
        if (host != nullptr && !options_.hosts.allows(*host))
            throw HttpError(421, fmt::format("Host: expected {}, found {}",
                                             options_.hosts.expected(), display_name(*host)));
        find_route(head);
        if (is_foreign(head)) throw HttpError(403, "Origin: expected this server's own pages");
        if (!options_.token.empty() && !head.route->is_open && !has_token(head, options_.token))
            throw HttpError(401, "Authorization: expected the bearer token of this server");
        if (head.route->before_body) head.route->before_body(head);
        return std::nullopt;
    } catch (const HttpError& error) {
        stats_.add(error.status(), seconds_since(head.arrived));
        Response response = error_response(error.status(), error.what());
        if (error.status() == 405)
            response.fields.push_back({"Allow", router_.methods(head.path())});
        return response;
    }
}

void Service::handle(std::shared_ptr<Request> request, Reply reply) {
    const auto counted = [this, request, to = std::move(reply)](Response response) {
        stats_.add(response.status, seconds_since(request->arrived));
        to(std::move(response));
    };
    try {
        if (request->route == nullptr) find_route(*request);  // nobody has checked its head
        request->route->handler({request, counted});
    } catch (...) {
        counted(response_for(std::current_exception()));
    }
}

// On the thread that loads: the threads of a model compute as patiently as the one that made them.
std::future<void> Service::begin_loading() {
    const auto task = std::make_shared<std::packaged_task<void()>>([this] { load_now(); });
    loader_.post([task] { (*task)(); });
    return task->get_future();
}

void Service::load_now() {
    repository_.load_all();
    for (const Repository::Entry& entry : repository_.index()) {
        if (!entry.model) continue;  // unloaded meanwhile
        note(fmt::format(
            "{} version {}: {:.1f} ms for one {}, batches of up to {}, answers within {:.0f} ms",
            entry.name, entry.version, 1e3 * entry.model->seconds(1),
            entry.model->translator() ? "sentence" : "image", entry.model->batch(),
            1e3 * entry.model->bound()));
    }
}

// What was asked for several times before it began is done once.
void Service::reload() {
    if (reload_waits_.exchange(true)) return;
    loader_.post([this] {
        reload_waits_ = false;
        if (draining_) return;
        try {
            load_now();
        } catch (const std::exception& error) {
            note(fmt::format("not loaded, the old one goes on: {}", error.what()));
        }
    });
}

void Service::in_background(Call call, std::function<Response()> work) {
    const auto refuse_to_begin = [this] {
        if (draining_) throw HttpError(503, "server: it is stopping, no model is loaded any more");
    };
    refuse_to_begin();
    loader_.post([refuse_to_begin, call = std::move(call), work = std::move(work)] {
        answer(call, [&] {
            refuse_to_begin();
            return work();
        });
    });
}

void Service::begin_drain() {
    draining_ = true;
    for (const auto& refuse : loader_.take_waiting()) refuse();
}

bool Service::stop(std::chrono::milliseconds patience) {
    draining_ = stopping_ = true;
    const Clock::time_point end = Clock::now() + patience;
    const auto idle = [this] {
        return batcher_.waiting() == 0 && workers_.idle() && loader_.idle() && renderer_.idle();
    };
    while (!idle()) {
        if (Clock::now() >= end) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
}

void Service::draw(Call call, std::function<Response()> work) {
    constexpr std::size_t kMost = 256;  // some pages, each with its pictures
    if (undrawn_ >= kMost) throw HttpError(503, "server: too busy with pictures, try again");
    ++undrawn_;
    // Counted for as long as it waits or is drawn, whatever becomes of it.
    const std::shared_ptr<void> counted(
        this, [](void* service) { --static_cast<Service*>(service)->undrawn_; });
    renderer_.post([this, counted, call = std::move(call), work = std::move(work)] {
        if (!*call.request->gone && !stopping_) answer(call, work);
    });
}

void Service::check_room(const ServedModel& model, Clock::time_point arrived) const {
    if (admission_.has_room(model.cost(1), model.room())) return;
    model.stats().failed(Failure::rejected, seconds_since(arrived));
    throw HttpError(503, "server: too busy, try again");
}

void Service::compute(Call call, ServedModelPtr model, Prepare prepare) {
    auto ticket = admission_.enter(model->cost(1), model->room());
    if (!ticket) {
        model->stats().failed(Failure::rejected, seconds_since(call.request->arrived));
        return call.reply(error_response(503, "server: too busy, try again"));
    }
    auto task = std::make_shared<Task>(
        Task{std::move(call), std::move(model), std::move(prepare), std::move(ticket)});
    workers_.post([this, task] { begin(task); });
}

Intake Service::intake_of(const std::shared_ptr<Task>& task) {
    return {
        decode_time_,
        {.pixels = options_.pixels,
         .left = -seconds_since(task->deadline),
         .stop = [this, gone = task->call.request->gone,
                  deadline =
                      task->deadline] { return *gone || stopping_ || Clock::now() >= deadline; },
         .grow =
             [this, task](std::size_t images, double decoding) {
                 // One image of the usual kind has its place already.
                 constexpr double kUsual = 0.1;  // of the bound
                 const ServedModel& model = *task->model;
                 if (images == 1 && decoding < kUsual * model.bound()) return;
                 if (!admission_.grow(*task->ticket, model.cost(images, decoding), model.room()))
                     throw HttpError(503, "server: too busy for this number of images, try again");
             }}};
}

void Service::check_answer(std::uint64_t bytes) const {
    if (bytes > options_.answer)
        throw HttpError(413, fmt::format("answer: expected at most {} bytes, what is asked for has "
                                         "up to {}; binary tensors have fewer",
                                         options_.answer, bytes));
}

// The images, and the outputs: each once by itself and once in a batch. Of lines, what translating
// them takes and what they become.
std::uint64_t Service::bytes_to_compute(const ServedModel& model, const Work& work) const {
    constexpr std::uint64_t kAnswer = 65'536, kNumber = 64;
    if (work.text)
        return work.text->bytes_to_translate(model.batch()) + work.text->result_bytes() +
               work.answer;
    std::uint64_t floats = 0;
    for (const std::string& name : work.taps)  // one that the model lacks is refused later
        if (const TapInfo* tap = model.tap(name); tap != nullptr)
            floats += std::uint64_t(tap->shape.count());
    floats *= std::uint64_t(work.images.shape()[0]);
    return 2 * (work.images.byte_size() + floats * sizeof(float)) +
           (work.answer > 0 ? work.answer : kAnswer + kNumber * floats) + work.left;
}

void Service::begin(const std::shared_ptr<Task>& task) {
    const ServedModel& model = *task->model;
    try {
        if (*task->call.request->gone) throw HttpError(503, "request: the client has left");
        const Clock::time_point start = Clock::now();
        if (stopping_ || start >= task->deadline)
            throw HttpError(503, "server: too busy to answer in time");
        Request& request = *task->call.request;
        if (!request.memory) request.memory = std::make_shared<Charge>(options_.memory);
        Charge& memory = *request.memory;
        const std::uint64_t head =
            memory.bytes() - std::min<std::uint64_t>(memory.bytes(), request.body.capacity());
        if (const std::string* encoding = request.field("content-encoding"); encoding != nullptr)
            request.body = decoded_body(std::move(request.body), *encoding, options_.body, memory);
        Work work = task->prepare(request, intake_of(task));
        request.body = {};
        memory.hold(head + bytes_to_compute(model, work), "request");
        auto prepared = work.text ? nullptr : model.prepare(work.taps);
        task->input = seconds_since(start);
        task->images = work.text ? work.text->lines() : std::size_t(work.images.shape()[0]);
        model.observe_input(task->images, task->input);
        task->format = std::move(work.format);
        if (work.timeout)
            task->deadline = std::min(
                task->deadline, task->arrived + std::chrono::duration_cast<Clock::duration>(
                                                    std::chrono::duration<double>(*work.timeout)));
        batcher_.submit({task->model, std::move(work.taps), std::move(work.images), task->deadline,
                         request.gone,
                         [this, task](Outcome outcome) {
                             auto shared = std::make_shared<Outcome>(std::move(outcome));
                             workers_.post(
                                 [this, task, shared] { finish(task, std::move(*shared)); }, true);
                         },
                         std::move(prepared), std::move(work.then), std::move(work.text)});
    } catch (...) {
        fail(task, std::current_exception(), false);
    }
}

void Service::finish(const std::shared_ptr<Task>& task, Outcome outcome) {
    if (outcome.error) return fail(task, outcome.error, true);
    try {
        const Clock::time_point start = Clock::now();
        Response response = task->format(outcome.outputs);
        outcome.outputs.clear();
        response.memory = task->call.request->memory;
        response.memory->hold(response.body.capacity(), "answer");
        task->ticket.reset();
        task->model->stats().answered({.images = task->images,
                                       .total = seconds_since(task->arrived),
                                       .queue = outcome.queue,
                                       .input = task->input,
                                       .infer = outcome.infer,
                                       .output = seconds_since(start)});
        task->call.reply(std::move(response));
    } catch (...) {
        fail(task, std::current_exception(), true);
    }
}

void Service::fail(const std::shared_ptr<Task>& task, std::exception_ptr error, bool in_engine) {
    task->ticket.reset();
    Response response = response_for(error, in_engine);
    const Failure why = *task->call.request->gone ? Failure::canceled
                        : response.status == 503  ? Failure::rejected
                        : response.status >= 500  ? Failure::backend
                                                  : Failure::other;
    task->model->stats().failed(why, seconds_since(task->arrived));
    task->call.reply(std::move(response));
}

}  // namespace cait::serve
