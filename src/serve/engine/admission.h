// Who may wait. The queue is measured in seconds of work: by Little's law a request waits as long
// as the work before it takes, so a request that would miss the latency bound is refused at once,
// while refusing costs next to nothing.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

namespace cait::serve {

class Admission {
public:
    // A place in the queue, given back when it goes out of scope.
    class Ticket {
    public:
        Ticket(Admission& from, double cost) : from_(&from), cost_(cost) {}
        Ticket(const Ticket&) = delete;
        Ticket& operator=(const Ticket&) = delete;
        ~Ticket() { from_->leave(cost_); }

    private:
        friend class Admission;
        Admission* from_;
        double cost_;
    };

    // `cost` is the work that comes in, `room` how much may wait together with it. Nothing when
    // the queue is full. An empty one takes anybody.
    std::shared_ptr<Ticket> enter(double cost, double room);
    bool has_room(double cost, double room) const;  // whether enter() would let it in now
    // For more work than was thought; false where it does not fit beside that of others.
    bool grow(Ticket& ticket, double cost, double room);

    double waiting() const;  // seconds of work
    std::size_t requests() const;

private:
    void leave(double cost);
    bool fits(double cost, double room) const;  // under the lock

    mutable std::mutex mutex_;
    double waiting_ = 0;
    std::size_t requests_ = 0;
};

}  // namespace cait::serve
