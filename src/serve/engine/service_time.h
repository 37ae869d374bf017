// How long a model takes for a batch: measured when it is loaded, corrected while it serves.
#pragma once

#include <atomic>
#include <cstddef>

namespace cait::serve {

class ServiceTime {
public:
    // Seconds of one image and of the `most` images that may go together.
    ServiceTime(double one, double all, std::size_t most);
    ServiceTime& operator=(const ServiceTime& other);  // while nobody asks

    double expected(std::size_t images) const;  // seconds
    void observe(std::size_t images, double seconds);

    // The largest batch of which four fit into `bound` seconds: the one that a request finds
    // running, its own, and as much again for those that wait before it and for what disturbs. At
    // least 1.
    std::size_t batch_within(double bound) const;

private:
    double plain(std::size_t images) const;

    double one_, all_;
    std::size_t most_;
    std::atomic<double> scale_ = 1;  // what the machine makes of it now
};

}  // namespace cait::serve
