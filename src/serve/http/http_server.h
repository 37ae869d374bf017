// An event loop that holds any number of connections in one thread and hands whole requests to
// somebody else. The only place, with connection.h and request_reader.cpp, that knows the HTTP
// library.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>

#include "serve/http/limits.h"
#include "serve/http/message.h"
#include "serve/memory_account.h"

namespace cait::serve {

struct HttpOptions {
    std::string address = "127.0.0.1";
    std::uint16_t port = 8080;  // 0: one that is free
    Limits limits{};
    std::string certificate{}, key{};  // PEM files; both empty: no TLS
    std::shared_ptr<MemoryAccount> memory = MemoryAccount::of_process();
};

// What a request came to, for the log.
struct Exchange {
    std::string peer, method, target;
    int status = 0;
    std::size_t received = 0, sent = 0;  // bytes of the bodies
    double seconds = 0;                  // from the first byte to the last
};

// All are called by the loop's thread and must not block.
struct HttpHooks {
    // Before the body is read: an answer refuses the request.
    std::function<std::optional<Response>(Request& head)> on_head;
    std::function<void(std::shared_ptr<Request> request, Reply reply)> on_request;
    std::function<void(const Exchange& exchange)> on_answer{};
    // A request that was refused while it was read, which nobody else hears of.
    std::function<void(int status, double seconds)> on_refused{};
    std::function<void()> on_listening{};
    // An exception that nobody expected. It has ended a connection, and nothing else.
    std::function<void(std::string_view what)> on_fault{};
};

class HttpServer {
public:
    // Listens; throws Error ("127.0.0.1:8080: cannot listen: …", a certificate that cannot be
    // read). Nothing is accepted before run().
    explicit HttpServer(const HttpOptions& options);
    ~HttpServer();

    std::uint16_t port() const;

    // From now on these signals are kept, and passed to `on_signal` by run() and by poll(), which
    // is for the time before: signals that have arrived are handled, without waiting for more.
    void watch(std::initializer_list<int> signals, std::function<void(int number)> on_signal);
    void poll();

    // Serves until drain() has ended.
    void run(HttpHooks hooks);

    // From any thread. Accepts what has connected already and nothing more, closes idle
    // connections after a moment, answers what has been sent; what is not answered after `patience`
    // is cut off.
    void drain(std::chrono::milliseconds patience);
    // Calls in the loop's thread after some time.
    void after(std::chrono::milliseconds time, std::function<void()> work);

    std::size_t connections() const;  // now open

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace cait::serve
