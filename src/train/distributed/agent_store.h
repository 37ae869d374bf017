// A client of the store that torchrun's agent keeps. LibTorch's own client speaks the protocol of
// its own version only, and the agent is of whatever PyTorch the user has; a few requests of it,
// the same since PyTorch 2.2, are all that two processes need to find each other.
#pragma once

#include <optional>
#include <string>

#include "train/distributed/network.h"

namespace cait {

class AgentStore {
public:
    // `place` is what errors call it.
    AgentStore(Socket connection, std::string place);

    void set(const std::string& key, const std::string& value);
    // Nothing when nobody has set it yet. Throws Error for a value that is no port number by
    // length.
    std::optional<std::string> get(const std::string& key);

private:
    void send(const std::string& bytes);
    void receive(void* bytes, std::size_t size);
    bool has(const std::string& key);
    [[noreturn]] void fail(const std::string& found) const;

    Socket connection_;
    std::string place_;
};

}  // namespace cait
