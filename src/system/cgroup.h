// Finds the folders of the process's control groups, where a container's limits stand in files.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace cait {

struct Cgroup {
    int version = 2;
    // From the process's own group up to the one that the container shows as root: the limits of
    // all of them hold.
    std::vector<std::filesystem::path> folders;
};

// The groups that limit `controller` ("cpu", "memory"); both versions may be mounted at once, and
// none need be. `root` is where /proc and /sys are looked for.
std::vector<Cgroup> cgroups_of(std::string_view controller, const std::filesystem::path& root);

}  // namespace cait
