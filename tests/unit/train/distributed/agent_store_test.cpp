// Ranks that find each other through a store of torchrun's protocol, written here once more from
// its other side; the e2e tests meet the real one.
#include "train/distributed/agent_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "cait/error.h"
#include "support/processes.h"

namespace cait {
namespace {

using testing::HasSubstr;

class FakeAgent {
public:
    explicit FakeAgent(bool answers = true) : answers_(answers) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t length = sizeof address;
        auto* generic = reinterpret_cast<sockaddr*>(&address);
        ::bind(listener_.handle(), generic, length);
        ::getsockname(listener_.handle(), generic, &length);
        port_ = ntohs(address.sin_port);
        ::listen(listener_.handle(), 8);
        threads_.emplace_back([this] { accept(); });
    }
    ~FakeAgent() {
        ::shutdown(listener_.handle(), SHUT_RDWR);
        threads_.front().join();
        for (std::size_t i = 1; i < threads_.size(); ++i) threads_[i].join();
    }

    int port() const { return port_; }
    std::string value(const std::string& key) {
        const std::lock_guard lock(mutex_);
        return values_[key];
    }
    void put(const std::string& key, const std::string& value) {
        const std::lock_guard lock(mutex_);
        values_[key] = value;
    }

private:
    void accept() {
        for (int one = 0; (one = ::accept(listener_.handle(), nullptr, nullptr)) >= 0;)
            threads_.emplace_back([this, one] {
                if (answers_ && number<char>(one) == 0 && number<std::uint32_t>(one) == 0x3C85F7CE)
                    while (answer(one)) continue;
                ::close(one);
            });
    }
    bool answer(int client) {
        char kind = 0;
        if (::recv(client, &kind, 1, MSG_WAITALL) != 1) return false;
        if (kind == 5) number<std::uint64_t>(client);  // how many keys
        const std::string key = text(client);
        const std::lock_guard lock(mutex_);
        std::string bytes;
        if (kind == 1) {
            values_[key] = text(client);
        } else if (kind == 5) {
            bytes = {char(values_.contains(key) ? 0 : 1)};
        } else {
            const std::uint64_t size = values_[key].size();
            bytes.assign(reinterpret_cast<const char*>(&size), sizeof size);
            bytes += values_[key];
        }
        ::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        return true;
    }
    template <typename Number>
    static Number number(int client) {
        Number value{};
        ::recv(client, &value, sizeof value, MSG_WAITALL);
        return value;
    }
    static std::string text(int client) {
        std::string bytes(number<std::uint64_t>(client), '\0');
        ::recv(client, bytes.data(), bytes.size(), MSG_WAITALL);
        return bytes;
    }

    bool answers_;
    Socket listener_{AF_INET, SOCK_STREAM};
    int port_ = 0;
    std::mutex mutex_;
    std::map<std::string, std::string> values_;
    std::vector<std::thread> threads_;
};

AgentStore client_of(const FakeAgent& agent) {
    std::string problem;
    return {*connect_to("127.0.0.1", agent.port(), problem), "the test"};
}

std::string complaint(const FakeAgent& agent) {
    try {
        client_of(agent).get("key");
    } catch (const Error& error) {
        return error.what();
    }
    return "none";
}

TEST(AgentStoreClient, SetsAndGets) {
    FakeAgent agent;
    AgentStore store = client_of(agent);
    EXPECT_EQ(store.get("key"), std::nullopt);
    store.set("key", "4711");
    EXPECT_EQ(agent.value("key"), "4711");
    EXPECT_EQ(store.get("key"), "4711");
}

TEST(AgentStoreClient, SaysWhatIsWrong) {
    EXPECT_THAT(complaint(FakeAgent(false)),
                HasSubstr("TORCHELASTIC_USE_AGENT_STORE: expected the store of torchrun (PyTorch "
                          "2.2 or newer) at the test, found "));
    FakeAgent agent;
    agent.put("key", std::string(65, '1'));
    EXPECT_THAT(complaint(agent), HasSubstr("found a value of 65 bytes"));
}

class AgentProcesses : public test::ManyProcesses {};

TEST_F(AgentProcesses, FindEachOther) {
    constexpr const char* kKey = "cait/run/0/port";
    if (test::in_child()) {
        WorldInfo world = world_from_environment();
        world.agent = AgentStorePlace{"127.0.0.1", std::atoi(std::getenv("CAIT_TEST_AGENT")), kKey};
        world.port = 0;
        ProcessGroup group(world);
        at::Tensor values = at::ones({3});
        group.all_reduce_sum(values);
        EXPECT_TRUE(values.equal(at::full({3}, 2)));
        return;
    }
    FakeAgent agent;
    agent.put(kKey, "1");  // of a rank 0 that is gone
    ::setenv("CAIT_TEST_AGENT", std::to_string(agent.port()).c_str(), 1);
    EXPECT_TRUE(test::ran_in_processes(2));
    ::unsetenv("CAIT_TEST_AGENT");
    EXPECT_GT(std::stoi(agent.value(kKey)), 1);
}

}  // namespace
}  // namespace cait
