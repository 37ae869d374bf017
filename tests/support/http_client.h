// A client that sends whatever bytes a test wants, good or bad, and reads what comes back.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace cait::test {

struct Answer {
    int status = 0;                               // 0: the connection ended without one
    std::map<std::string, std::string> fields{};  // names in lower case
    std::string body{};
    double seconds = 0;

    nlohmann::json json() const { return nlohmann::json::parse(body); }
    std::string error() const { return json().at("error"); }
};

class HttpClient {
public:
    explicit HttpClient(int port) {
        fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(std::uint16_t(port));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (fd_ < 0 || ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
            if (fd_ >= 0) ::close(fd_);
            throw std::runtime_error("cannot connect");
        }
        const int on = 1;
        ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    HttpClient(HttpClient&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    HttpClient(const HttpClient&) = delete;
    HttpClient& operator=(const HttpClient&) = delete;
    ~HttpClient() {
        if (fd_ >= 0) ::close(fd_);
    }

    void send(const std::string& bytes) const {
        for (std::size_t sent = 0; sent < bytes.size();) {
            const ssize_t n = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
            if (n <= 0) return;
            sent += std::size_t(n);
        }
    }

    // Nothing more is sent, but answers are read: half of the connection is closed.
    void finish_sending() const { ::shutdown(fd_, SHUT_WR); }

    // The next answer, or what there is of it after so many seconds.
    Answer receive(double seconds = 30, bool head_only = false) {
        const auto start = std::chrono::steady_clock::now();
        Answer answer;
        const auto waited = [&] {
            return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        };
        std::size_t head = std::string::npos;
        while ((head = read_.find("\r\n\r\n")) == std::string::npos)
            if (!more(seconds - waited())) return answer;
        parse_head(read_.substr(0, head), answer);
        read_.erase(0, head + 4);
        if (answer.status == 100) return receive(seconds - waited());
        const std::size_t length = head_only ? 0 : std::stoull(answer.fields.at("content-length"));
        while (read_.size() < length)
            if (!more(seconds - waited())) break;
        answer.body = read_.substr(0, length);
        read_.erase(0, length);
        answer.seconds = waited();
        return answer;
    }

    // Whether the server ends the connection within so many seconds.
    bool ends(double seconds = 5) {
        const auto end = std::chrono::steady_clock::now() +
                         std::chrono::milliseconds(std::int64_t(1e3 * seconds));
        while (std::chrono::steady_clock::now() < end)
            if (!more(0.1) && ended_) return true;
        return false;
    }

    Answer ask(const std::string& method, const std::string& target, const std::string& body = "",
               const std::string& fields = "") {
        send(request(method, target, body, fields));
        return receive(30, method == "HEAD");
    }

    static std::string request(const std::string& method, const std::string& target,
                               const std::string& body = "", const std::string& fields = "") {
        std::string text = method + " " + target + " HTTP/1.1\r\nHost: localhost\r\n" + fields;
        if (!body.empty() || method == "POST")
            text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
        return text + "\r\n" + body;
    }

private:
    bool more(double seconds) {
        pollfd waiting{fd_, POLLIN, 0};
        if (seconds <= 0 || ::poll(&waiting, 1, std::max(1, int(1e3 * seconds))) <= 0) return false;
        char buffer[65536];
        const ssize_t n = ::recv(fd_, buffer, sizeof buffer, 0);
        ended_ = n <= 0;
        if (n > 0) read_.append(buffer, std::size_t(n));
        return n > 0;
    }

    static void parse_head(const std::string& head, Answer& answer) {
        answer.status = std::stoi(head.substr(head.find(' ') + 1));
        for (std::size_t at = head.find("\r\n"); at != std::string::npos;) {
            const std::size_t begin = at + 2;
            at = head.find("\r\n", begin);
            const std::string line = head.substr(begin, at - begin);
            const std::size_t colon = line.find(": ");
            if (colon == std::string::npos) continue;
            std::string name = line.substr(0, colon);
            std::ranges::transform(name, name.begin(),
                                   [](unsigned char c) { return char(std::tolower(c)); });
            answer.fields[name] = line.substr(colon + 2);
        }
    }

    int fd_ = -1;
    std::string read_;
    bool ended_ = false;
};

}  // namespace cait::test
