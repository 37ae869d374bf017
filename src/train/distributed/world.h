// Which process of a run this one is, as whoever started it has written into the environment:
// torchrun and our own launcher, Open MPI, or MPICH and its relatives.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace cait {

struct WorldInfo {
    int rank = 0;
    int world = 1;       // processes in all
    int local_rank = 0;  // among those of this machine: which GPU to take
    // Where rank 0 listens while the processes find each other.
    std::string address = "127.0.0.1";
    int port = 29500;
};

using Environment = std::function<std::optional<std::string>(const char* name)>;

// RANK, WORLD_SIZE, LOCAL_RANK; else OMPI_COMM_WORLD_*; else PMI_*; else one process alone.
// MASTER_ADDR and MASTER_PORT count in every case. Throws UsageError that names the variable.
WorldInfo world_from_environment();
WorldInfo world_from_environment(const Environment& environment);

}  // namespace cait
