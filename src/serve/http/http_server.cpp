#include "serve/http/http_server.h"

#include <fmt/format.h>

#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>

#include "base/display_name.h"
#include "serve/http/connection.h"
#include "system/scheduling.h"

namespace cait::serve {

namespace {

using TlsStream = asio::ssl::stream<Tcp::socket>;

std::optional<asio::ssl::context> tls_context(const HttpOptions& options) {
    if (options.certificate.empty() && options.key.empty()) return std::nullopt;
    asio::ssl::context context(asio::ssl::context::tls_server);
    context.set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_tlsv1 |
                        asio::ssl::context::no_tlsv1_1 | asio::ssl::context::no_compression);
    ErrorCode problem;
    context.use_certificate_chain_file(options.certificate, problem);
    if (problem)
        throw Error(fmt::format("{}: cannot read the certificate: {}", options.certificate,
                                problem.message()));
    context.use_private_key_file(options.key, asio::ssl::context::pem, problem);
    if (problem)
        throw Error(fmt::format("{}: cannot read the key: {}", options.key, problem.message()));
    return context;
}

Tcp::acceptor listen_at(asio::io_context& loop, const HttpOptions& options) {
    const std::string place = fmt::format("{}:{}", options.address, options.port);
    ErrorCode problem;
    const auto address = asio::ip::make_address(options.address, problem);
    if (problem)
        throw UsageError(fmt::format("--host: expected an address such as 127.0.0.1, found {}",
                                     display_name(options.address)));
    Tcp::acceptor acceptor(loop);
    const Tcp::endpoint endpoint(address, options.port);
    acceptor.open(endpoint.protocol(), problem);
    if (!problem) acceptor.set_option(Tcp::acceptor::reuse_address(true), problem);
    if (!problem) acceptor.bind(endpoint, problem);
    if (!problem) acceptor.listen(4096, problem);
    if (problem) throw Error(fmt::format("{}: cannot listen: {}", place, problem.message()));
    acceptor.non_blocking(true);
    return acceptor;
}

}  // namespace

struct HttpServer::State {
    HttpOptions options;
    asio::io_context loop{1};
    std::optional<asio::ssl::context> tls;
    Tcp::acceptor acceptor;
    std::uint16_t port;
    asio::signal_set signals{loop};
    std::function<void(int)> on_signal{};
    asio::steady_timer retry{loop}, patience{loop};
    HttpHooks hooks;
    ConnectionSet set{loop, options.limits, hooks, options.memory};
    std::atomic<std::size_t> open = 0;
    bool accepting = false;

    explicit State(const HttpOptions& with)
        : options(with),
          tls(tls_context(with)),
          acceptor(listen_at(loop, with)),
          port(acceptor.local_endpoint().port()) {
        set.on_closed = [this] {
            open = set.size();
            if (set.draining && open == 0) loop.stop();
            if (!accepting) guard([this] { accept(); });
        };
    }

    // Who was cut off is still held by the loop, which ends after the lists.
    ~State() {
        set.on_closed = [] {};
        for (auto* list : {&set.opening, &set.idle, &set.active})
            while (!list->empty()) list->front().connection->close();
    }

    // Does `work`; an exception is logged, and the server goes on.
    template <class Work>
    void guard(const Work& work) noexcept {
        try {
            work();
        } catch (...) {
            set.report_fault();
        }
    }

    void await_signal() {
        signals.async_wait([this](ErrorCode problem, int number) {
            if (problem) return;
            guard([&] { on_signal(number); });
            guard([&] { await_signal(); });
        });
    }

    // Where this throws, it is called again as soon as a connection has ended.
    void accept() {
        accepting = false;
        if (!acceptor.is_open()) return;
        acceptor.async_wait(Tcp::acceptor::wait_read, [this](ErrorCode problem) {
            if (problem) return;  // closed
            bool all = false;
            guard([&] { all = accept_all(); });
            guard([&] { all ? accept() : accept_later(); });
        });
        accepting = true;
    }

    // No descriptor or memory is left: others will be closed.
    void accept_later() {
        accepting = false;
        retry.expires_after(std::chrono::milliseconds(50));
        retry.async_wait([this](ErrorCode stopped) {
            if (!stopped) guard([this] { accept(); });
        });
        accepting = true;
    }

    // A client that has connected; false where the system gives no more descriptors.
    bool accept_all() {
        for (;;) {
            ErrorCode problem;
            Tcp::socket socket(loop);
            acceptor.accept(socket, problem);
            if (problem == asio::error::would_block) return true;
            if (problem == asio::error::no_descriptors || problem == asio::error::no_memory ||
                problem == asio::error::no_buffer_space ||
                problem == boost::system::errc::too_many_files_open_in_system) {
                set.make_room();
                return false;
            }
            if (problem) continue;  // it has left already
            if (set.size() >= options.limits.connections && !set.make_room())
                continue;  // closed: everybody here is being served
            try {
                begin(std::move(socket));
            } catch (const HttpError&) {  // memory has no room for one more
                set.make_room();
                return false;
            }
        }
    }

    void begin(Tcp::socket socket) {
        ErrorCode problem;
        const Tcp::endpoint peer = socket.remote_endpoint(problem);
        socket.set_option(Tcp::no_delay(true), problem);
        socket.non_blocking(true, problem);
        const std::string name = peer.address().to_string();
        if (tls)
            start(std::make_shared<Connection<TlsStream>>(TlsStream(std::move(socket), *tls), set,
                                                          name));
        else
            start(std::make_shared<Connection<Tcp::socket>>(std::move(socket), set, name));
    }
    template <class ConnectionPtr>
    void start(const ConnectionPtr& connection) {
        open = set.size();
        connection->start();
    }

    void drain(std::chrono::milliseconds time) {
        if (set.draining) return;
        guard([&] { accept_all(); });
        ErrorCode ignored;
        acceptor.close(ignored);
        set.draining = true;
        for (const Member& one : Members(set.idle)) one.connection->finish();
        if (set.size() == 0) return loop.stop();
        patience.expires_after(time);
        patience.async_wait([this](ErrorCode) { loop.stop(); });
    }
};

HttpServer::HttpServer(const HttpOptions& options) : state_(std::make_unique<State>(options)) {}
HttpServer::~HttpServer() = default;

std::uint16_t HttpServer::port() const { return state_->port; }
std::size_t HttpServer::connections() const { return state_->open; }

void HttpServer::run(HttpHooks hooks) {
    answer_promptly();
    state_->hooks = std::move(hooks);
    if (state_->hooks.on_listening) state_->hooks.on_listening();
    state_->accept();
    state_->loop.restart();  // poll() may have found nothing to do
    for (bool over = false; !over;)
        state_->guard([&] {
            state_->loop.run();
            over = true;
        });
}

void HttpServer::watch(std::initializer_list<int> signals, std::function<void(int)> on_signal) {
    for (const int number : signals) state_->signals.add(number);
    if (!std::exchange(state_->on_signal, std::move(on_signal))) state_->await_signal();
}

void HttpServer::poll() {
    state_->loop.restart();
    state_->loop.poll();
}

void HttpServer::drain(std::chrono::milliseconds patience) {
    asio::post(state_->loop, [this, patience] { state_->guard([&] { state_->drain(patience); }); });
}

void HttpServer::after(std::chrono::milliseconds time, std::function<void()> work) {
    asio::post(state_->loop, [this, time, work = std::move(work)] {
        state_->guard([&] {
            auto timer = std::make_shared<asio::steady_timer>(state_->loop, time);
            timer->async_wait([this, timer, work](ErrorCode problem) {
                if (!problem) state_->guard(work);
            });
        });
    });
}

}  // namespace cait::serve
