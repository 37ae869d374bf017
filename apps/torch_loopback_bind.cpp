// LibTorch's store listens on every interface, also where all processes are on this machine. The
// program's own bind() stands before libc's and narrows that down, see ListenLocally.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "train/distributed/network.h"

namespace {

// "Every address" becomes loopback; anything else stays. Returns whether it was that.
bool narrow(sockaddr_storage& address) {
    if (address.ss_family == AF_INET) {
        auto& four = reinterpret_cast<sockaddr_in&>(address);
        if (four.sin_addr.s_addr != htonl(INADDR_ANY)) return false;
        four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return true;
    }
    if (address.ss_family != AF_INET6) return false;
    auto& six = reinterpret_cast<sockaddr_in6&>(address);
    if (std::memcmp(&six.sin6_addr, &in6addr_any, sizeof in6addr_any) != 0) return false;
    // ::ffff:127.0.0.1, since the others come by IPv4.
    six.sin6_addr = {};
    six.sin6_addr.s6_addr[10] = six.sin6_addr.s6_addr[11] = 0xFF;
    six.sin6_addr.s6_addr[12] = 127;
    six.sin6_addr.s6_addr[15] = 1;
    return true;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int bind(int socket, const sockaddr* address,
                                                           socklen_t length) noexcept {
    sockaddr_storage copy{};
    if (cait::ListenLocally::is_wanted() && address != nullptr && length <= sizeof copy) {
        std::memcpy(&copy, address, length);
        if (narrow(copy)) address = reinterpret_cast<const sockaddr*>(&copy);
    }
    return int(::syscall(SYS_bind, socket, address, length));
}
