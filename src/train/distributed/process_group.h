// The processes of one run, and what they do together: sums, copies, agreement. One process alone
// needs no network, and all of this then costs nothing.
#pragma once

#include "train/torch/libtorch.h"

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "train/distributed/heartbeat.h"
#include "train/distributed/rendezvous.h"
#include "train/distributed/world.h"

namespace cait {

struct ProcessGroupOptions {
    at::Device device = at::kCPU;  // cuda: NCCL, where LibTorch has it
    HeartbeatOptions heartbeat{};
    // How to go on after a rank was lost: "cait train --resume runs/x". Ends the error's line.
    std::string resume{};
    WaitingOptions waiting{};  // for the others, at the start
};

// Every function that speaks to other ranks is called by all of them, in the same order, from one
// thread at a time. When a rank is gone they throw Error that names it, and so does every later
// call.
class ProcessGroup {
public:
    // Waits until all ranks are there. Throws Error when they are not within `heartbeat.join`,
    // StoppedWaiting when `waiting.stop` ends it before.
    explicit ProcessGroup(const WorldInfo& world = {}, const ProcessGroupOptions& options = {});
    ~ProcessGroup();
    ProcessGroup(const ProcessGroup&) = delete;
    ProcessGroup& operator=(const ProcessGroup&) = delete;

    // Whether this build can have more than one process on CPUs.
    static bool has_network();

    int rank() const { return world_.rank; }
    int world() const { return world_.world; }
    int local_rank() const { return world_.local_rank; }
    bool is_main() const { return world_.rank == 0; }

    // A sum under way. wait() before its tensor is read and before the group ends; waiting again
    // does nothing.
    class Pending {
    public:
        Pending() = default;
        void wait();

    private:
        friend class ProcessGroup;
        struct Operation;
        std::shared_ptr<Operation> operation_;
    };

    // In place. All ranks get the same bits, and get them again in every run: the order of the
    // additions depends on the number of ranks and elements only.
    void all_reduce_sum(at::Tensor& tensor);
    void all_reduce_mean(at::Tensor& tensor);
    Pending start_sum(const at::Tensor& tensor);

    void broadcast(at::Tensor& tensor, int root = 0);

    // Everybody's text, by rank; meant for some kilobytes.
    std::vector<std::string> all_gather(const std::string& bytes);

    void barrier();

private:
    class Connection;
    WorldInfo world_;
    std::unique_ptr<Connection> connection_;  // none when there is one process
};

}  // namespace cait
