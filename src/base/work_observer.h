// How work that takes long tells its caller what there is to say: the library itself never prints.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace cait {

struct WorkObserver {
    using Progress = std::function<void(std::size_t done, std::size_t total)>;

    std::function<void(const std::string& text)> note = [](const std::string&) {};
    // Called when a piece of work begins; what it returns is called as the work goes on.
    std::function<Progress(const std::string& what, const std::string& unit)> begin =
        [](const std::string&, const std::string&) { return [](std::size_t, std::size_t) {}; };
};

}  // namespace cait
