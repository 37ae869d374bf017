// The names by which a server may be called. A page of another site can have its own name lead to
// this computer ("DNS rebinding"), and its scripts then ask as if they came from here; but a
// browser still says which name it was.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cait::serve {

class HostRule {
public:
    // Listening at `address`, also called by `names`. A server of this computer alone answers to
    // localhost and loopback addresses; any other to every IP address as well: those need no DNS,
    // and behind NAT or a container's port they are not this computer's own.
    explicit HostRule(std::string_view address = "127.0.0.1", std::vector<std::string> names = {});

    // `host` is the field of a request: a name or an address, with or without a port.
    bool allows(std::string_view host) const;
    std::string expected() const;  // "localhost, an address or example.org"

private:
    bool loopback_;
    std::vector<std::string> names_;  // in lower case
};

// 127.0.0.0/8 and ::1.
bool is_loopback(std::string_view address);

}  // namespace cait::serve
