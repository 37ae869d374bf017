// Counts the cases of a loop over stored numbers. A loop that runs no case proves nothing, and one
// that loses some proves less than it says; both fail here.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <source_location>

namespace cait::test {

class CaseCount {
public:
    explicit CaseCount(std::size_t expected,
                       std::source_location at = std::source_location::current())
        : expected_(expected), at_(at) {}
    CaseCount(const CaseCount&) = delete;
    CaseCount& operator=(const CaseCount&) = delete;
    ~CaseCount() {
        // Whoever left the loop early has failed already and said why.
        if (seen_ == expected_ && expected_ > 0) return;
        if (seen_ > 0 && testing::Test::HasFatalFailure()) return;
        ADD_FAILURE_AT(at_.file_name(), int(at_.line()))
            << "expected " << expected_ << " cases, found " << seen_;
    }

    void operator++() { ++seen_; }

private:
    std::size_t expected_, seen_ = 0;
    std::source_location at_;
};

}  // namespace cait::test
