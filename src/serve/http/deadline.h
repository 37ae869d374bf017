// A time that moves often, usually further away, and is watched by one timer, which is set again
// only where the time comes nearer.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include <boost/asio/steady_timer.hpp>

#include "serve/http/message.h"

namespace cait::serve {

class Deadline {
public:
    explicit Deadline(boost::asio::io_context& loop) : timer_(loop) {}

    void set(std::chrono::milliseconds from_now) { set(Clock::now() + from_now); }
    void set(Clock::time_point time) {
        time_ = time;
        if (time < timer_.expiry()) cancel();  // and wait again
    }
    void cancel() {
        boost::system::error_code ignored;
        timer_.cancel(ignored);
    }

    // Calls owner->run_out_of_time() whenever the time is over, until owner->is_closed(); behind
    // owner->guard(), which ends the owner where that throws. Keeps the owner, of which this is a
    // part, alive.
    template <class Owner>
    void watch(std::shared_ptr<Owner> owner) {
        timer_.expires_at(time_);
        timer_.async_wait([this, owner = std::move(owner)](boost::system::error_code) {
            owner->guard([&] {
                if (!owner->is_closed() && Clock::now() >= time_) owner->run_out_of_time();
                if (!owner->is_closed()) watch(owner);
            });
        });
    }

private:
    boost::asio::steady_timer timer_;
    Clock::time_point time_{};
};

}  // namespace cait::serve
