// A small HTTP server on loopback for the download tests: serves strings, understands Range, and
// can misbehave in the ways that real servers and networks do.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace cait::test {

class HttpServer {
public:
    struct File {
        std::string content{};
        bool ranges = true;  // false: always sends the whole file
        // Closes the connection after so many bytes of the body, so many times.
        std::size_t cut_after = 0;
        int cuts = 0;
        // Once: sends so many bytes of the body and no more until the client is gone. 0: never.
        std::size_t hold_after = 0;
        int slow_bytes = 0;  // sends so many bytes a second, in ten pieces. 0: as fast as it goes
        int status = 200;    // other than 200: this status and no body …
        int failures = -1;   // … so many times; -1: always
        std::string redirect{};  // to this path
    };

    HttpServer() {
        // A proxy for the outside world must not stand between a test and its own server.
        ::setenv("no_proxy", "127.0.0.1", 1);
        ::setenv("NO_PROXY", "127.0.0.1", 1);
        listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof address;
        auto* generic = reinterpret_cast<sockaddr*>(&address);
        if (listener_ < 0 || ::bind(listener_, generic, length) != 0 ||
            ::listen(listener_, 16) != 0 || ::getsockname(listener_, generic, &length) != 0)
            throw std::runtime_error("cannot listen on loopback");
        port_ = ntohs(address.sin_port);
        thread_ = std::thread([this] { run(); });
    }
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;
    ~HttpServer() {
        stop_ = true;
        thread_.join();
        ::close(listener_);
    }

    void put(const std::string& path, File file) {
        const std::lock_guard lock(mutex_);
        files_[path] = std::move(file);
    }

    std::string address(const std::string& path = "") const {
        return "http://127.0.0.1:" + std::to_string(port_) + path;
    }

    // What was asked for: "/file" or "/file from 100".
    std::vector<std::string> requests() const {
        const std::lock_guard lock(mutex_);
        return requests_;
    }

private:
    void run() {
        while (!stop_) {
            pollfd waiting{listener_, POLLIN, 0};
            if (::poll(&waiting, 1, 20) <= 0) continue;
            const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
            if (client < 0) continue;
            answer(client);
            ::close(client);
        }
    }

    static std::string read_head(int client) {
        std::string head;
        char buffer[4096];
        while (head.find("\r\n\r\n") == std::string::npos) {
            const ssize_t n = ::recv(client, buffer, sizeof buffer, 0);
            if (n <= 0) break;
            head.append(buffer, std::size_t(n));
        }
        return head;
    }

    static void send_all(int client, const std::string& text) {
        for (std::size_t sent = 0; sent < text.size();) {
            const ssize_t n = ::send(client, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
            if (n <= 0) return;
            sent += std::size_t(n);
        }
    }

    void answer(int client) {
        const std::string head = read_head(client);
        const std::size_t slash = head.find('/');
        const std::size_t end = head.find(' ', slash);
        if (slash == std::string::npos || end == std::string::npos) return;
        const std::string path = head.substr(slash, end - slash);
        const std::size_t range = head.find("Range: bytes=");
        std::size_t from = 0;
        if (range != std::string::npos) from = std::stoull(head.substr(range + 13));

        const std::lock_guard lock(mutex_);
        requests_.push_back(path + (from > 0 ? " from " + std::to_string(from) : ""));
        const auto found = files_.find(path);
        if (found == files_.end()) return send_all(client, head_text(404, 0));
        send_file(client, found->second, from);
    }

    void send_file(int client, File& file, std::size_t from) {
        if (!file.redirect.empty())
            return send_all(client, head_text(302, 0, "Location: " + file.redirect + "\r\n"));
        if (file.status != 200 && file.failures != 0) {
            --file.failures;
            return send_all(client, head_text(file.status, 0));
        }
        const std::size_t size = file.content.size();
        if (!file.ranges) from = 0;
        if (from > 0 && from >= size) return send_all(client, head_text(416, 0));
        std::string text = head_text(200, size);
        if (from > 0)
            text = head_text(206, size - from,
                             "Content-Range: bytes " + std::to_string(from) + "-" +
                                 std::to_string(size - 1) + "/" + std::to_string(size) + "\r\n");
        const bool cut = file.cuts > 0 && size - from > file.cut_after;
        if (cut) --file.cuts;
        if (file.hold_after > 0) {
            send_all(client, text + file.content.substr(from, file.hold_after));
            file.hold_after = 0;
            return wait_for_end(client);
        }
        if (file.slow_bytes > 0)
            return drip(client, text, file.content.substr(from), file.slow_bytes);
        send_all(client,
                 text + file.content.substr(from, cut ? file.cut_after : std::string::npos));
    }

    void drip(int client, const std::string& head, const std::string& body, int bytes) const {
        send_all(client, head);
        const auto piece = std::size_t(std::max(1, bytes / 10));
        for (std::size_t sent = 0; sent < body.size() && !stop_; sent += piece) {
            if (::send(client, body.data() + sent, std::min(piece, body.size() - sent),
                       MSG_NOSIGNAL) <= 0)
                return;
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
    }

    void wait_for_end(int client) const {
        char byte = 0;
        while (!stop_) {
            pollfd waiting{client, POLLIN, 0};
            if (::poll(&waiting, 1, 20) > 0 && ::recv(client, &byte, 1, 0) <= 0) return;
        }
    }

    static std::string head_text(int status, std::size_t length, const std::string& more = "") {
        return "HTTP/1.1 " + std::to_string(status) +
               " Status\r\nContent-Length: " + std::to_string(length) +
               "\r\nConnection: close\r\n" + more + "\r\n";
    }

    int listener_ = -1;
    int port_ = 0;
    mutable std::mutex mutex_;
    std::map<std::string, File> files_;
    std::vector<std::string> requests_;
    std::atomic<bool> stop_ = false;
    std::thread thread_;
};

}  // namespace cait::test
