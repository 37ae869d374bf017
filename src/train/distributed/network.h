// What processes have to know about addresses before they can talk to each other.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace cait {

// Closes what it holds.
class Socket {
public:
    Socket(int family, int type);
    ~Socket();
    Socket(Socket&& other) noexcept : handle_(std::exchange(other.handle_, -1)) {}
    Socket& operator=(Socket&&) = delete;

    int handle() const { return handle_; }

private:
    int handle_;
};

// A TCP port that nobody uses at the moment.
int free_port();

// Our own address on the network that leads to `host`; "" when the name does not resolve.
std::string address_towards(const std::string& host, int port);

// A TCP connection, tried for some seconds at most; without one, `problem` says why. LibTorch would
// connect too, but with pauses of a second and more, and it prints when it gives up.
std::optional<Socket> connect_to(const std::string& host, int port, std::string& problem);

// Whether a name means this machine alone.
bool is_loopback(const std::string& host);

// While it lives, a server that the calling thread opens for every address shall listen for this
// machine alone. LibTorch's store has no setting for it, so the program's own bind() looks here
// (apps/torch_loopback_bind.cpp).
class ListenLocally {
public:
    explicit ListenLocally(bool wanted);
    ~ListenLocally();
    ListenLocally(const ListenLocally&) = delete;
    ListenLocally& operator=(const ListenLocally&) = delete;

    static bool is_wanted();

private:
    bool before_;
};

}  // namespace cait
