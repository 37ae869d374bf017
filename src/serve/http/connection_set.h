// What connections share, and each one's place among them. All of it belongs to the loop's thread.
#pragma once

#include <exception>
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
    virtual void close() noexcept = 0;
    virtual void finish() = 0;  // answers what has been sent and closes
};

struct ConnectionSet {
    boost::asio::io_context& loop;
    const Limits& limits;
    HttpHooks& hooks;
    std::shared_ptr<MemoryAccount> memory;
    std::list<ConnectionBase*> idle{};    // the longest idle first
    std::list<ConnectionBase*> active{};  // all others
    bool draining = false;
    std::function<void()> on_closed{};

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
        } catch (...) {  // whoever cannot even be told of it
            return;
        }
    }
};

// One connection in the lists of a set, and what it takes of the account beside its request.
class Membership {
public:
    // Throws HttpError(503) where memory has no room for one more.
    Membership(ConnectionSet& set, ConnectionBase* one, std::size_t own_bytes)
        : set_(set), memory_(set.memory, Charge::Stage::small), own_bytes_(own_bytes) {
        memory_.hold(own_bytes, "server");
        place_ = set.active.insert(set.active.end(), one);
    }
    Membership(const Membership&) = delete;
    Membership& operator=(const Membership&) = delete;
    ~Membership() { leave(); }

    void set_idle(bool idle) {
        if (idle == idle_) return;
        list(idle).splice(list(idle).end(), list(idle_), place_);
        idle_ = idle;
    }
    // A buffer of more than its usual size. Throws HttpError(503).
    void hold_buffer(std::size_t bytes) { memory_.hold(own_bytes_ + bytes, "server"); }
    void leave() {
        if (!std::exchange(listed_, false)) return;
        list(idle_).erase(place_);
    }

private:
    std::list<ConnectionBase*>& list(bool idle) { return idle ? set_.idle : set_.active; }

    ConnectionSet& set_;
    Charge memory_;
    std::size_t own_bytes_;
    std::list<ConnectionBase*>::iterator place_;
    bool listed_ = true, idle_ = false;
};

}  // namespace cait::serve
