// Carries out `cait serve`: listens first, so that a port that is taken costs no loading, gives up
// what a server does not need, loads, serves until it is told to stop.
#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <future>
#include <map>
#include <optional>

#include "base/display_name.h"
#include "executor.h"
#include "input_files.h"
#include "kernels/precision_names.h"
#include "model_arguments.h"
#include "output.h"
#include "serve.h"
#include "serve/access_log.h"
#include "serve/http/http_server.h"
#include "serve/image_search.h"
#include "serve/service.h"
#include "system/cpu_limit.h"
#include "system/file_bytes.h"
#include "system/memory_budget.h"
#include "system/sandbox.h"

namespace cait::app {

namespace {

namespace fs = std::filesystem;

// "flowers" for runs/flowers, runs/flowers:last and flowers.safetensors.
std::string name_of_file(const std::string& file) {
    const auto run = run_weights(file);
    fs::path path = (run ? run->folder : fs::path(file)).lexically_normal();
    if (path.filename().empty()) path = path.parent_path();
    return run ? path.filename().string() : path.stem().string();
}

void check_name(const std::string& name, const std::string& word) {
    const bool fits = !name.empty() && name.size() <= 100 && printable(name) == name &&
                      name.find('/') == std::string::npos && name != "stats";
    if (!fits)
        throw UsageError(fmt::format(
            "{}: expected a name of 1 to 100 printable characters before '='", display_name(word)));
}

std::vector<serve::ModelSource> sources_of(const ServeArguments& arguments) {
    std::vector<serve::ModelSource> sources;
    std::map<std::string, int> versions;
    for (const std::string& word : arguments.files) {
        const auto [given, weights] = split_name(word);
        std::string name = weights != word                   ? given
                           : weights.starts_with("official") ? arguments.model.model
                                                             : name_of_file(weights);
        check_name(name, word);
        const int version = ++versions[name];
        ModelWords words = arguments.model.words(weights, arguments.classes);
        words.imagenet_names = true;
        const FoundModel found = find_model(words);
        // The folder of a run may have a better epoch when its model is loaded again.
        sources.push_back({std::move(name), std::to_string(version), found.file, [found] {
                               const bool run = run_weights(found.words.weights).has_value();
                               return open_with_notes(run ? find_model(found.words) : found).model;
                           }});
    }
    return sources;
}

std::string token_of(const ServeArguments& arguments) {
    if (arguments.token_file.empty()) return {};
    std::string token = read_text(arguments.token_file, 8192);
    while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
    const bool fits =
        token.size() >= 8 && token.size() <= 4096 &&
        std::all_of(token.begin(), token.end(), [](char c) { return c > 32 && c < 127; });
    if (!fits)
        throw Error(fmt::format("{}: expected a token of 8 to 4096 visible characters",
                                arguments.token_file));
    return token;
}

// As many descriptors as the system allows; connections take one each.
std::size_t connections_within_limits(std::size_t wanted) {
    // The loop, its signals, the log, a model and a picture that are being read, and some more for
    // the libraries.
    constexpr rlim_t kOwn = 32;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return wanted;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ::getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= wanted + kOwn) return wanted;
    if (limit.rlim_cur <= kOwn)
        throw Error(
            fmt::format("ulimit -n: expected more than {} files, found {}", kOwn, limit.rlim_cur));
    const std::size_t possible = limit.rlim_cur - kOwn;
    print_error("note: {} connections at a time, for no more than {} files may be open\n", possible,
                limit.rlim_cur);
    return possible;
}

serve::AccessLog::Wrote write_log(const std::string& lines) {
    using Wrote = serve::AccessLog::Wrote;
    if (!serve::AccessLog::takes(STDOUT_FILENO)) return Wrote::nothing_yet;
    write_out(lines);
    flush_out();
    return output_lost() ? Wrote::lost : Wrote::all;
}

// What a large request or answer took goes back to the system at once. Left to itself the allocator
// would learn to keep it, for each thread, beyond all that the server counts.
void give_large_blocks_back() {
    constexpr int kLarge = 4 << 20;
    ::mallopt(M_MMAP_THRESHOLD, kLarge);
    ::mallopt(M_TRIM_THRESHOLD, 2 * kLarge);
}

std::chrono::milliseconds milliseconds(double seconds) {
    return std::chrono::milliseconds(std::int64_t(1e3 * seconds));
}

serve::ServiceOptions service_options(const ServeArguments& arguments) {
    const auto threads = [](int asked) { return asked > 0 ? asked : default_threads(); };
    serve::ServiceOptions options;
    options.engine = {.precision = precision_of(arguments.precision),
                      .threads = threads(arguments.threads),
                      .batch = arguments.batch,
                      .bound = 1e-3 * arguments.bound,
                      .keep = arguments.model.kept()};
    options.workers = std::size_t(threads(arguments.workers));
    options.delay = 1e-3 * arguments.delay;
    options.answer = std::size_t(parse_memory_size(arguments.answer, "--answer"));
    options.token = token_of(arguments);
    options.may_control = arguments.control || !options.token.empty();
    options.hosts = serve::HostRule(arguments.host, arguments.names);
    options.pixels.image = std::int64_t(1e6 * arguments.megapixels);
    options.pixels.request = 4 * options.pixels.image;
    options.note = [](const std::string& text) { print_error("cait: {}\n", text); };
    return options;
}

std::shared_ptr<const serve::ImageSearch> search_of(const ServeArguments& arguments) {
    if (arguments.index.empty()) return nullptr;
    auto search = std::make_shared<const serve::ImageSearch>(arguments.index, arguments.pictures);
    if (!search->picture_problem().empty())
        print_error("note: --pictures can show none: {}\n", search->picture_problem());
    return search;
}

class Serving {
public:
    explicit Serving(const ServeArguments& arguments) : arguments_(arguments) {}

    void run() {
        give_large_blocks_back();
        serve::HttpOptions http{.address = arguments_.host, .port = arguments_.port};
        http.certificate = arguments_.certificate;
        http.key = arguments_.key;
        http.limits.connections = connections_within_limits(arguments_.connections);
        http.limits.head_time = http.limits.slack = milliseconds(arguments_.timeout);
        serve::HttpServer server(http);
        const auto forward = [this](int number) { on_signal_(number); };
        server.watch({SIGHUP}, forward);  // the others end what may be a long download
        serve::ServiceOptions options = service_options(arguments_);
        options.memory = http.memory;  // one account for all
        std::vector<serve::ModelSource> sources = sources_of(arguments_);
        std::vector<fs::path> outputs;
        if (!arguments_.log.empty() && arguments_.log != "-") outputs.emplace_back(arguments_.log);
        enter_sandbox(outputs, Network::accepting);
        open_log();
        options.search = search_of(arguments_);
        serve::Service service(std::move(sources), options);
        server.watch({SIGTERM, SIGINT}, forward);
        load(service, server);
        if (options.search)  // vectors of another model would find anything
            serve::check_made_by(*options.search, *service.repository().standard(),
                                 arguments_.index);
        service.count_connections([&] { return server.connections(); });
        server.run({.on_head = [&](serve::Request& head) { return service.check_head(head); },
                    .on_request =
                        [&](std::shared_ptr<serve::Request> request, serve::Reply reply) {
                            service.handle(std::move(request), std::move(reply));
                        },
                    .on_answer =
                        [&](const serve::Exchange& exchange) {
                            if (log_) log_->add(exchange);
                        },
                    .on_refused = [&](int status,
                                      double seconds) { service.stats().add(status, seconds); },
                    .on_listening = [&] { announce(server.port(), options.token.empty()); },
                    .on_fault = [&](std::string_view what) { service.report_fault(what); }});
        if (!service.stop(kLastMoment)) leave();
        say_the_last_words();
    }

private:
    static constexpr std::chrono::milliseconds kLastMoment{500};

    void open_log() {
        if (arguments_.log == "-")
            log_.emplace(write_log);
        else if (!arguments_.log.empty())
            log_.emplace(fs::path(arguments_.log));
    }

    // Signals are handled meanwhile: loading a model may take minutes.
    void load(serve::Service& service, serve::HttpServer& server) {
        bool again = false;
        on_signal_ = [&](int number) { (number == SIGHUP ? again : stopping_) = true; };
        std::future<void> loaded = service.begin_loading();
        do {
            server.poll();
            if (stopping_) {
                print_error("cait: stopping\n");
                leave();
            }
        } while (loaded.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready);
        loaded.get();
        if (again) service.reload();
        on_signal_ = [this, &server, &service](int number) {
            handle_signal(number, server, service);
        };
    }

    void say_the_last_words() {
        const std::size_t lost = log_ ? log_->finish() : 0;
        if (lost > 0) print_error("note: {} lines of the log were lost\n", lost);
        print_error("cait: stopped\n");
    }

    // What other threads still do is left behind: nobody waits for it, and it may take long.
    [[noreturn]] void leave() {
        say_the_last_words();
        std::_Exit(finish_output(0));
    }

    void announce(std::uint16_t port, bool without_token) const {
        const bool v6 = arguments_.host.find(':') != std::string::npos;
        print_error("cait: listening at {}://{}{}{}:{}\n",
                    arguments_.certificate.empty() ? "http" : "https", v6 ? "[" : "",
                    arguments_.host, v6 ? "]" : "", port);
        if (serve::is_loopback(arguments_.host)) return;
        if (without_token)
            print_error("note: anyone who can reach {} may use it; --token-file asks for a token\n",
                        arguments_.host);
        if (arguments_.names.empty())
            print_error(
                "note: clients must use an IP address or localhost; --name allows a host name\n");
    }

    void handle_signal(int number, serve::HttpServer& server, serve::Service& service) {
        if (number == SIGHUP) return service.reload();
        const auto patience = milliseconds(arguments_.patience);
        if (std::exchange(stopping_, true)) return server.drain(patience);  // at once
        print_error("cait: stopping\n");
        service.begin_drain();
        server.after(milliseconds(arguments_.grace),
                     [&server, patience] { server.drain(patience); });
    }

    const ServeArguments& arguments_;
    std::optional<serve::AccessLog> log_;
    std::function<void(int)> on_signal_ = [](int) {
    };  // while nothing is loaded, nothing is loaded anew
    bool stopping_ = false;
};

}  // namespace

void run(const ServeArguments& arguments, const Invocation&) {
    OutputFile(arguments.log == "-" ? "" : arguments.log)
        .not_in(arguments.files)
        .not_in(arguments.index)
        .not_in(arguments.token_file)
        .not_in(arguments.key)
        .not_in(arguments.certificate);
    Serving(arguments).run();
}

}  // namespace cait::app
