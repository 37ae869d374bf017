// Where the time of a training step goes: nanoseconds by part, summed over threads. Code that wants
// to know hands a Profile down; without one nothing is measured.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace cait::kernels {

enum class Part { gemm, pack, attention, norm, gelu, residual, other };
inline constexpr std::array<const char*, 7> kPartNames = {"gemm", "pack",     "attention", "norm",
                                                          "gelu", "residual", "other"};

class Profile {
public:
    void add(Part part, std::int64_t nanoseconds) {
        totals_[std::size_t(part)].fetch_add(nanoseconds, std::memory_order_relaxed);
    }
    void clear() {
        for (auto& total : totals_) total = 0;
    }
    std::int64_t nanoseconds(Part part) const { return totals_[std::size_t(part)].load(); }

private:
    std::array<std::atomic<std::int64_t>, kPartNames.size()> totals_{};
};

// Runs `work` and books its time.
template <class Work>
void timed(Profile* profile, Part part, const Work& work) {
    if (profile == nullptr) return work();
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::nanoseconds elapsed = std::chrono::steady_clock::now() - start;
    profile->add(part, elapsed.count());
}

}  // namespace cait::kernels
