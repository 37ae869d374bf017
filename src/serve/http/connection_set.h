// What connections share, and each one's place among them. All of it belongs to the loop's thread.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>

#include <boost/asio/io_context.hpp>

#include "serve/http/http_server.h"

namespace cait::serve {

// What the loop knows of a connection.
class ConnectionBase {
public:
    virtual ~ConnectionBase() = default;
    virtual void close() = 0;
    virtual void finish() = 0;  // answers what has been sent and closes
};

// One connection in the lists of a set.
struct Member {
    ConnectionBase* connection;
    std::string peer;                       // address
    Clock::time_point since{Clock::now()};  // in this list
};
using Members = std::list<Member>;  // those who came first, first

struct ConnectionSet {
    boost::asio::io_context& loop;
    const Limits& limits;
    HttpHooks& hooks;
    Members opening{};  // have not sent the whole head of a request that they began
    Members idle{};     // between two requests
    Members active{};   // all others
    std::unordered_map<std::string, std::size_t> by_peer{};  // connections
    std::size_t buffered = 0;  // bytes of requests that are being received
    bool draining = false;
    std::function<void()> on_closed{};

    std::size_t size() const { return opening.size() + idle.size() + active.size(); }

    // Closes one that nobody is computing for: who has been slow with a head for a while, else who
    // has been idle for long, else whoever is sending a head. False where there is none.
    bool make_room() {
        constexpr std::chrono::seconds kSlow{1};
        if (!opening.empty() && Clock::now() - opening.front().since > kSlow)
            return close_one_of(opening);
        return close_one_of(idle) || close_one_of(opening);
    }

private:
    // Of those that came first, one of the client who has the most connections.
    bool close_one_of(const Members& list) {
        constexpr int kCandidates = 32;
        const Member* chosen = nullptr;
        std::size_t most = 0;
        int left = kCandidates;
        for (auto one = list.begin(); one != list.end() && left > 0; ++one, --left)
            if (const std::size_t connections = by_peer[one->peer]; connections > most) {
                chosen = &*one;
                most = connections;
            }
        if (chosen == nullptr) return false;
        chosen->connection->close();
        return true;
    }
};

// One connection's place in a set, and what it holds of the memory that all share.
class Membership {
public:
    Membership(ConnectionSet& set, ConnectionBase* one, const std::string& peer)
        : set_(set), list_(&set.opening), place_(list_->insert(list_->end(), {one, peer})) {
        ++set_.by_peer[peer];
    }
    Membership(const Membership&) = delete;
    Membership& operator=(const Membership&) = delete;
    ~Membership() { leave(); }

    void move_to(Members& list) {
        if (!listed_ || &list == list_) return;
        list.splice(list.end(), *list_, place_);
        list_ = &list;
        place_->since = Clock::now();
    }
    void hold(std::size_t bytes) {
        set_.buffered += bytes - held_;
        held_ = bytes;
    }
    void leave() {
        if (!std::exchange(listed_, false)) return;
        hold(0);
        if (const auto peer = set_.by_peer.find(place_->peer); --peer->second == 0)
            set_.by_peer.erase(peer);
        list_->erase(place_);
    }

private:
    ConnectionSet& set_;
    Members* list_;
    Members::iterator place_;
    bool listed_ = true;
    std::size_t held_ = 0;
};

}  // namespace cait::serve
