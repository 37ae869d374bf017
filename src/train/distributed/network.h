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

}  // namespace cait
