// What processes have to know about addresses before they can talk to each other.
#pragma once

#include <chrono>
#include <string>

namespace cait {

// A TCP port that nobody uses at the moment.
int free_port();

// Our own address on the network that leads to `host`; "" when the name does not resolve.
std::string address_towards(const std::string& host, int port);

// Tries until somebody accepts a connection there. "" when somebody does, else why nobody did.
// LibTorch would wait too, but with pauses of a second and more, and it prints when it gives up.
std::string wait_for_listener(const std::string& host, int port, std::chrono::milliseconds limit);

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
