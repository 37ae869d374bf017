// A connection of the server over a pair of sockets, in the caller's own thread: its loop runs when
// it is told to.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "serve/http/connection.h"

namespace cait::test {

class PolledConnection {
public:
    // Hooks and limits are set before start().
    explicit PolledConnection(std::uint64_t memory = std::uint64_t{8} << 20)
        : account(std::make_shared<serve::MemoryAccount>(memory)), server_(loop_) {
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
            throw std::runtime_error("no sockets");
        fd_ = ends[0];
        server_.assign(serve::Tcp::v4(), ends[1]);
        hooks.on_head = [](const serve::Request&) { return std::optional<serve::Response>(); };
        hooks.on_request = [](const auto& request, const serve::Reply& reply) {
            reply({.body = request->body});
        };
        set_.on_closed = [] {};
    }
    PolledConnection(const PolledConnection&) = delete;
    PolledConnection& operator=(const PolledConnection&) = delete;
    ~PolledConnection() { leave(); }

    void start() {
        std::make_shared<serve::Connection<serve::Tcp::socket>>(std::move(server_), set_, "client")
            ->start();
    }

    // Until all of it is sent or nobody takes it any more.
    void send(std::string_view bytes) {
        for (int tries = 0; !bytes.empty() && tries < 64; ++tries) {
            const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (count < 0 && errno != EAGAIN) return;  // it was cut off
            if (count > 0) bytes.remove_prefix(std::size_t(count));
            count > 0 ? poll() : turn();  // a server that cannot write does not read
        }
    }
    void send_no_more() const { ::shutdown(fd_, SHUT_WR); }

    // What the server does by itself.
    void poll() {
        loop_.restart();
        loop_.poll();
    }
    // What it has answered, up to so many bytes; false where there is nothing.
    bool read_some(std::size_t most) {
        poll();
        std::string buffer(most, char());
        const ssize_t count = ::recv(fd_, buffer.data(), buffer.size(), 0);
        if (count > 0 && got.size() < most_kept) got.append(buffer, 0, std::size_t(count));
        return count > 0;
    }
    // All of it.
    void turn() {
        while (read_some(65'536)) continue;
    }
    void turns(int count = 8) {
        for (int i = 0; i < count; ++i) turn();
    }

    // The client closes; the server finds out.
    void leave() {
        if (fd_ < 0) return;
        ::close(fd_);
        fd_ = -1;
        poll();
    }
    bool is_over() const { return set_.size() == 0; }

    std::shared_ptr<serve::MemoryAccount> account;
    serve::Limits limits;
    serve::HttpHooks hooks;
    std::string got;
    std::size_t most_kept = std::size_t{1} << 20;

private:
    serve::asio::io_context loop_{1};
    serve::ConnectionSet set_{loop_, limits, hooks, account};
    serve::Tcp::socket server_;
    int fd_ = -1;
};

}  // namespace cait::test
