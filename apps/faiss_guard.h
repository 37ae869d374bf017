// The second line of defence behind evaluate/index/index_file.h: should FAISS or its BLAS crash all
// the same, or run out of memory in a thread of its own, the command ends with one line and exit 1.
#pragma once

#include <string>

namespace cait::app {

// While it lives. Sanitizers keep their own handlers.
class FaissGuard {
public:
    explicit FaissGuard(const std::string& file);  // opens the message
    ~FaissGuard();
    FaissGuard(const FaissGuard&) = delete;
    FaissGuard& operator=(const FaissGuard&) = delete;
};

}  // namespace cait::app
