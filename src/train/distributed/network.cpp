#include "train/distributed/network.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "cait/error.h"

namespace cait {

namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// `problem` says why there are none.
Addresses resolve(const std::string& host, int port, int type, std::string& problem) {
    addrinfo wanted{};
    wanted.ai_socktype = type;
    addrinfo* list = nullptr;
    const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &list);
    if (code != 0) problem = ::gai_strerror(code);
    return {code == 0 ? list : nullptr, ::freeaddrinfo};
}

// 0, or why not.
int try_to_connect(const Socket& socket, const addrinfo& address) {
    constexpr int kPatienceMilliseconds = 2000;
    if (socket.handle() < 0) return errno;
    if (::connect(socket.handle(), address.ai_addr, address.ai_addrlen) == 0) return 0;
    if (errno != EINPROGRESS) return errno;
    pollfd waiting{socket.handle(), POLLOUT, 0};
    if (::poll(&waiting, 1, kPatienceMilliseconds) <= 0) return ETIMEDOUT;
    int reason = 0;
    socklen_t length = sizeof reason;
    ::getsockopt(socket.handle(), SOL_SOCKET, SO_ERROR, &reason, &length);
    return reason;
}

}  // namespace

Socket::Socket(int family, int type) : handle_(::socket(family, type | SOCK_CLOEXEC, 0)) {}

Socket::~Socket() {
    if (handle_ >= 0) ::close(handle_);
}

int free_port() {
    const Socket socket(AF_INET, SOCK_STREAM);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    if (socket.handle() < 0 || ::bind(socket.handle(), generic, length) != 0 ||
        ::getsockname(socket.handle(), generic, &length) != 0)
        throw Error(fmt::format("expected a free TCP port, found none: {}", std::strerror(errno)));
    return ntohs(address.sin_port);
}

std::string address_towards(const std::string& host, int port) {
    std::string problem;
    const Addresses list = resolve(host, port, SOCK_DGRAM, problem);
    for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
        // Connecting a datagram socket sends nothing; it only chooses the way.
        const Socket socket(entry->ai_family, SOCK_DGRAM);
        sockaddr_storage own{};
        socklen_t length = sizeof own;
        char text[NI_MAXHOST];
        if (socket.handle() >= 0 &&
            ::connect(socket.handle(), entry->ai_addr, entry->ai_addrlen) == 0 &&
            ::getsockname(socket.handle(), reinterpret_cast<sockaddr*>(&own), &length) == 0 &&
            ::getnameinfo(reinterpret_cast<sockaddr*>(&own), length, text, sizeof text, nullptr, 0,
                          NI_NUMERICHOST) == 0)
            return text;
    }
    return "";
}

std::optional<Socket> connect_to(const std::string& host, int port, std::string& problem) {
    const Addresses list = resolve(host, port, SOCK_STREAM, problem);
    for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
        Socket socket(entry->ai_family, SOCK_STREAM | SOCK_NONBLOCK);
        const int reason = try_to_connect(socket, *entry);
        if (reason == 0) return socket;
        problem = std::strerror(reason);
    }
    return std::nullopt;
}

bool is_loopback(const std::string& host) {
    return host == "localhost" || host == "::1" || host.starts_with("127.");
}

namespace {
thread_local bool listens_locally = false;
}  // namespace

ListenLocally::ListenLocally(bool wanted) : before_(listens_locally) { listens_locally = wanted; }
ListenLocally::~ListenLocally() { listens_locally = before_; }
bool ListenLocally::is_wanted() { return listens_locally; }

}  // namespace cait
