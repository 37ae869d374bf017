#include "system/cgroup.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace cait {

namespace {

namespace fs = std::filesystem;

bool has_word(const std::string& list, std::string_view word) {
    std::istringstream words(list);
    for (std::string one; std::getline(words, one, ',');)
        if (one == word) return true;
    return false;
}

struct Mount {
    int version = 2;
    std::string shows;  // the group that is seen at the mount point
    std::string point;
};

// A line of /proc/self/mountinfo: "31 23 0:28 /shown /mount/point options … - type source options".
std::optional<Mount> read_mount(const std::string& line, std::string_view controller) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) return std::nullopt;
    std::istringstream before(line.substr(0, dash)), after(line.substr(dash + 3));
    std::string id, parent, device, type, source, options;
    Mount mount;
    before >> id >> parent >> device >> mount.shows >> mount.point;
    after >> type >> source >> options;
    mount.version = type == "cgroup2" ? 2 : 1;
    if (type != "cgroup2" && !(type == "cgroup" && has_word(options, controller)))
        return std::nullopt;
    return mount;
}

// The process's group: lines of /proc/self/cgroup are "4:cpu,cpuacct:/group", "0::/group" for
// version 2.
std::optional<std::string> group_of(const fs::path& root, int version,
                                    std::string_view controller) {
    std::ifstream file(root / "proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
        const std::size_t first = line.find(':');
        const std::size_t second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1);
        if (version == 2 ? controllers.empty() : has_word(controllers, controller))
            return line.substr(second + 1);
    }
    return std::nullopt;
}

// The group's place below the mount point; nothing when the mount does not show it.
fs::path below(const std::string& group, const std::string& shown) {
    const fs::path relative = fs::path(group).lexically_relative(shown);
    const bool outside = relative.empty() || *relative.begin() == "..";
    return outside || relative == "." ? fs::path() : relative;
}

}  // namespace

std::vector<Cgroup> cgroups_of(std::string_view controller, const fs::path& root) {
    std::vector<Cgroup> found;
    std::ifstream mounts(root / "proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);) {
        const std::optional<Mount> mount = read_mount(line, controller);
        if (!mount) continue;
        const std::optional<std::string> group = group_of(root, mount->version, controller);
        if (!group) continue;
        Cgroup cgroup{.version = mount->version, .folders = {}};
        const fs::path point = root / fs::path(mount->point).relative_path();
        for (fs::path place = below(*group, mount->shows); !place.empty();
             place = place.parent_path())
            cgroup.folders.push_back(point / place);
        cgroup.folders.push_back(point);
        found.push_back(std::move(cgroup));
    }
    return found;
}

}  // namespace cait
