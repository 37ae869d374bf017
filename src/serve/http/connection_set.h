// What connections share, and each one's place among them. All of it belongs to the loop's thread.
#pragma once

#include <functional>
#include <list>
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

struct ConnectionSet {
    boost::asio::io_context& loop;
    const Limits& limits;
    HttpHooks& hooks;
    std::list<ConnectionBase*> idle{};    // the longest idle first
    std::list<ConnectionBase*> active{};  // all others
    std::size_t buffered = 0;             // bytes of requests that are being received
    bool draining = false;
    std::function<void()> on_closed{};
};

// One connection in the lists of a set, and what it holds of the memory that all share.
class Membership {
public:
    Membership(ConnectionSet& set, ConnectionBase* one)
        : set_(set), place_(set.active.insert(set.active.end(), one)) {}
    Membership(const Membership&) = delete;
    Membership& operator=(const Membership&) = delete;
    ~Membership() { leave(); }

    void set_idle(bool idle) {
        if (idle == idle_) return;
        list(idle).splice(list(idle).end(), list(idle_), place_);
        idle_ = idle;
    }
    void hold(std::size_t bytes) {
        set_.buffered += bytes - held_;
        held_ = bytes;
    }
    void leave() {
        if (!std::exchange(listed_, false)) return;
        hold(0);
        list(idle_).erase(place_);
    }

private:
    std::list<ConnectionBase*>& list(bool idle) { return idle ? set_.idle : set_.active; }

    ConnectionSet& set_;
    std::list<ConnectionBase*>::iterator place_;
    bool listed_ = true, idle_ = false;
    std::size_t held_ = 0;
};

}  // namespace cait::serve
