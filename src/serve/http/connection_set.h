// What connections share, and each one's place among them. All of it belongs to the loop's thread.
#pragma once

#include <exception>
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
    virtual void close() noexcept = 0;
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
    std::shared_ptr<MemoryAccount> memory;
    Members opening{};  // have not sent the whole head of a request that they began
    Members idle{};     // between two requests
    Members active{};   // all others
    std::unordered_map<std::string, std::size_t> by_peer{};  // connections
    bool draining = false;
    std::function<void()> on_closed{};

    std::size_t size() const { return opening.size() + idle.size() + active.size(); }

    // Closes one that nobody is computing for: who has been slow with a head for a while, else who
    // has been idle for long, else one that is sending a head. False if there is no such
    // connection.
    bool make_room() {
        constexpr std::chrono::seconds kSlow{1};
        if (!opening.empty() && Clock::now() - opening.front().since > kSlow)
            return close_one_of(opening);
        return close_one_of(idle) || close_one_of(opening);
    }

    // Tells of the exception that is being handled.
    void report_fault() const noexcept {
        try {
            if (!hooks.on_fault) return;
            try {
                throw;
            } catch (const std::exception& error) {
                hooks.on_fault(error.what());
            } catch (...) {
                hooks.on_fault("unknown");
            }
        } catch (...) {  // reporting it failed, too
            return;
        }
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

// One connection's place in a set, and what it takes of the account beside its request.
class Membership {
public:
    // Throws HttpError(503) where memory has no room for one more.
    Membership(ConnectionSet& set, ConnectionBase* one, const std::string& peer,
               std::size_t own_bytes)
        : set_(set),
          memory_(set.memory, Charge::Stage::small),
          own_bytes_(own_bytes),
          list_(&set.opening) {
        memory_.hold(own_bytes, "server");
        std::size_t& connections = set_.by_peer[peer];
        place_ = list_->insert(list_->end(), {one, peer});
        ++connections;  // after all that can throw
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
    // A buffer of more than its usual size. Throws HttpError(503).
    void hold_buffer(std::size_t bytes) { memory_.hold(own_bytes_ + bytes, "server"); }
    void leave() {
        if (!std::exchange(listed_, false)) return;
        if (const auto peer = set_.by_peer.find(place_->peer); --peer->second == 0)
            set_.by_peer.erase(peer);
        list_->erase(place_);
    }

private:
    ConnectionSet& set_;
    Charge memory_;
    std::size_t own_bytes_;
    Members* list_;
    Members::iterator place_;
    bool listed_ = true;
};

}  // namespace cait::serve
