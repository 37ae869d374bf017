// Several processes on this machine for one run: starts them, passes signals on, ends them
// together.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace cait {

struct LaunchOptions {
    std::chrono::milliseconds grace{30'000};  // for the others once one has failed; then SIGKILL
    // What there is to say: who failed, and what it wrote as errors (rank 0 writes for itself).
    std::function<void(const std::string& line)> report = [](const std::string&) {};
};

// Runs `command` n times (a command that must not launch in turn), with RANK, WORLD_SIZE,
// LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT and, unless it is set, OMP_NUM_THREADS =
// cores / n. Only rank 0 has input and output. SIGTERM, SIGINT, SIGHUP and SIGXCPU go to all of
// them. Returns the first exit code that is not 0, in the order of ending; 128 + N for signal N. To
// be called before the program has threads: signals that reach another thread are not seen here.
int launch_processes(int n, const std::vector<std::string>& command,
                     const LaunchOptions& options = {});

// Cores that this process may use, shared by n; at least 1.
int threads_per_process(int n);

}  // namespace cait
