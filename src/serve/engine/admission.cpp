#include "serve/engine/admission.h"

namespace cait::serve {

bool Admission::fits(double cost, double room) const {
    return requests_ == 0 || waiting_ + cost <= room;
}

bool Admission::has_room(double cost, double room) const {
    const std::lock_guard lock(mutex_);
    return fits(cost, room);
}

std::shared_ptr<Admission::Ticket> Admission::enter(double cost, double room) {
    {
        const std::lock_guard lock(mutex_);
        if (!fits(cost, room)) return nullptr;
        waiting_ += cost;
        ++requests_;
    }
    return std::make_shared<Ticket>(*this, cost);
}

bool Admission::grow(Ticket& ticket, double cost, double room) {
    const std::lock_guard lock(mutex_);
    const double more = cost - ticket.cost_;
    if (more <= 0) return true;
    if (requests_ > 1 && waiting_ + more > room) return false;
    waiting_ += more;
    ticket.cost_ = cost;
    return true;
}

void Admission::leave(double cost) {
    const std::lock_guard lock(mutex_);
    waiting_ -= cost;
    if (--requests_ == 0) waiting_ = 0;  // no rounding adds up
}

double Admission::waiting() const {
    const std::lock_guard lock(mutex_);
    return waiting_;
}

std::size_t Admission::requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
}

}  // namespace cait::serve
