// The wires of a ProcessGroup: c10d's store, heartbeat and back end (Gloo, or NCCL on GPUs), made
// so that a rank that is gone becomes an Error and neither a hang nor an abort.
#pragma once

#include "train/torch/libtorch.h"

#include <memory>
#include <string>

#include "train/distributed/process_group.h"

namespace cait {

class ProcessGroup::Connection {
public:
    Connection(const WorldInfo& world, const ProcessGroupOptions& options);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    // An operation that was started; each is to be finished once.
    struct Started;
    using Ticket = std::shared_ptr<Started>;

    // In place, on contiguous tensors.
    Ticket start_sum(at::Tensor& values);
    Ticket start_broadcast(at::Tensor& values, int root);
    void finish(const Ticket& ticket);

    at::Device device() const { return options_.device; }

private:
    struct Wires;
    void open_store();
    void compare_worlds();
    void open_back_end();
    void check_alive() const;
    template <typename Start>
    Ticket start(const char* what, const Start& function);
    [[noreturn]] void fail(const std::string& who, const std::string& what,
                           const std::string& reason);

    WorldInfo world_;
    ProcessGroupOptions options_;
    std::unique_ptr<Wires> wires_;
    std::string failure_;  // set once, thrown ever after
    int unfinished_ = 0;
    int exceptions_at_start_;
};

}  // namespace cait
