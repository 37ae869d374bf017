// Memory that grows while a file is read, drawn from the process's budget as it does: a table of
// short rows, or a list of blank lines, takes many times its own size.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "system/memory_budget.h"

namespace cait {

class CountedMemory {
public:
    explicit CountedMemory(std::string what) : what_(std::move(what)) {}

    // Throws Error, opening with `what`, when the budget does not have it.
    void add(std::uint64_t bytes) {
        pending_ += bytes;
        if (pending_ < kStep) return;
        shares_.push_back(MemoryBudget::of_process().keep(std::exchange(pending_, 0), what_));
    }
    // A text that is kept, with what holds it.
    void add_text(const std::string& text) {
        constexpr std::size_t kInPlace = 15;  // shorter ones take nothing beside themselves
        add(sizeof(text) + (text.size() > kInPlace ? text.size() + 1 : 0));
    }

private:
    static constexpr std::uint64_t kStep = std::uint64_t{4} << 20;

    std::string what_;
    std::uint64_t pending_ = 0;
    std::vector<MemoryShare> shares_;
};

}  // namespace cait
