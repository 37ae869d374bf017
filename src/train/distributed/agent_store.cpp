#include "train/distributed/agent_store.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "cait/error.h"

namespace cait {

namespace {

// c10d's protocol since PyTorch 2.2: a byte says what is asked; numbers and lengths follow in the
// byte order of the machine.
enum class Request : char { validate = 0, set = 1, get = 3, check = 5 };
constexpr std::uint32_t kMagic = 0x3C85F7CE;  // the first words of a client
constexpr char kReady = 0;
constexpr int kPatienceMilliseconds = 10'000;
constexpr std::uint64_t kLongest = 64;  // of a value: a port has five digits

template <typename Number>
std::string raw(Number number) {
    return {reinterpret_cast<const char*>(&number), sizeof number};
}

std::string counted(const std::string& text) { return raw(std::uint64_t(text.size())) + text; }

std::string request(Request kind) { return {char(kind)}; }

}  // namespace

AgentStore::AgentStore(Socket connection, std::string place)
    : connection_(std::move(connection)), place_(std::move(place)) {
    send(request(Request::validate) + raw(kMagic));
}

void AgentStore::fail(const std::string& found) const {
    throw Error(
        fmt::format("TORCHELASTIC_USE_AGENT_STORE: expected the store of torchrun (PyTorch 2.2 or "
                    "newer) at {}, found {}",
                    place_, found));
}

void AgentStore::send(const std::string& bytes) {
    for (std::size_t sent = 0; sent < bytes.size();) {
        pollfd ready{connection_.handle(), POLLOUT, 0};
        if (::poll(&ready, 1, kPatienceMilliseconds) == 0) fail("nobody who reads");
        const ssize_t count =
            ::send(connection_.handle(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (count >= 0)
            sent += std::size_t(count);
        else if (errno != EINTR && errno != EAGAIN)
            fail(std::strerror(errno));
    }
}

void AgentStore::receive(void* bytes, std::size_t size) {
    for (std::size_t read = 0; read < size;) {
        pollfd ready{connection_.handle(), POLLIN, 0};
        if (::poll(&ready, 1, kPatienceMilliseconds) == 0)
            fail(fmt::format("no answer within {} s", kPatienceMilliseconds / 1000));
        const ssize_t count =
            ::recv(connection_.handle(), static_cast<char*>(bytes) + read, size - read, 0);
        if (count == 0) fail("a closed connection");
        if (count > 0)
            read += std::size_t(count);
        else if (errno != EINTR && errno != EAGAIN)
            fail(std::strerror(errno));
    }
}

bool AgentStore::has(const std::string& key) {
    send(request(Request::check) + raw(std::uint64_t(1)) + counted(key));
    char answer = 0;
    receive(&answer, 1);
    return answer == kReady;
}

void AgentStore::set(const std::string& key, const std::string& value) {
    send(request(Request::set) + counted(key) + counted(value));
    if (!has(key)) fail("that it does not keep what is set");  // setting has no answer
}

std::optional<std::string> AgentStore::get(const std::string& key) {
    if (!has(key)) return std::nullopt;
    send(request(Request::get) + counted(key));
    std::uint64_t size = 0;
    receive(&size, sizeof size);
    if (size > kLongest) fail(fmt::format("a value of {} bytes", size));
    std::string value(size, '\0');
    receive(value.data(), value.size());
    return value;
}

}  // namespace cait
