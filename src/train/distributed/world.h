// Which process of a run this one is, as its launcher has written into the environment:
// torchrun and our own launcher, Open MPI, MPICH and its relatives, or Slurm.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace cait {

// torchrun's agent listens at MASTER_ADDR:MASTER_PORT itself: there rank 0 publishes its own port.
struct AgentStorePlace {
    std::string address;
    int port = 0;
    std::string key;  // another one for every run and every restart
};

struct WorldInfo {
    int rank = 0;
    int world = 1;       // processes in all
    int local_rank = 0;  // among those of this machine: which GPU to take
    // Where rank 0 listens while the processes find each other.
    std::string address = "127.0.0.1";
    int port = 29500;                           // 0: any, which the agent's store then has
    std::string counted_by = "WORLD_SIZE";      // the variable that `world` is from
    std::optional<AgentStorePlace> agent = {};  // with torchrun
};

using Environment = std::function<std::optional<std::string>(const char* name)>;

// RANK, WORLD_SIZE, LOCAL_RANK; else OMPI_COMM_WORLD_*; else PMI_*; else SLURM_*; else one process
// alone. MASTER_ADDR and MASTER_PORT count in every case. Throws UsageError that names the
// variable.
WorldInfo world_from_environment(const Environment& environment);
WorldInfo world_from_environment();

}  // namespace cait
