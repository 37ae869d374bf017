// What a program gives up before it reads files that it does not trust, so that a mistake in a
// decoder is worth little: writing anywhere but to its outputs (Landlock), and the network and
// other programs (seccomp). Programs ask for it; the library never does by itself.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cait {

struct Sandbox {
    bool files = false;         // only the outputs can be written
    bool system_calls = false;  // no network, no other program
    std::string reason{};       // why one of them is off, where it is
};

// What is left of the network.
enum class Network {
    none,
    accepting,  // clients of a socket that listens already; nothing can be connected to
    peers,      // IP sockets, for processes of one run that speak to each other; no local sockets
};

// Whether other programs can be started: only by what reads nothing of strangers itself. What it
// starts cannot write more files than it can.
enum class Programs { none, some };

// For the calling thread and those that it starts later: call it before there are others. An output
// is a file that may not be there yet, whose folder then can be written, or a folder. Reading stays
// as it is. CAIT_SANDBOX=off switches it off; other words are a UsageError.
Sandbox enter_sandbox(const std::vector<std::filesystem::path>& outputs,
                      Network network = Network::none, Programs programs = Programs::none);

// What this system would give, for `cait machine`: "Landlock 7 and seccomp".
std::string sandbox_text();

}  // namespace cait
