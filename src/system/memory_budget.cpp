#include "system/memory_budget.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <limits>

#include "base/display_name.h"
#include "cait/error.h"
#include "system/cpu_limit.h"

namespace cait {

namespace {

std::uint64_t default_budget() {
    const std::uint64_t usable = memory_limit().usable();
    // A system that does not say how much there is has its own way to refuse.
    return usable > 0 ? usable / 4 * 3 : std::numeric_limits<std::int64_t>::max();
}

std::uint64_t budget_of_process() {
    const char* value = std::getenv("CAIT_MEMORY");
    const std::string_view text = value == nullptr ? "" : value;
    return text.empty() ? default_budget() : parse_memory_size(text, "CAIT_MEMORY");
}

}  // namespace

MemoryShare::~MemoryShare() {
    if (budget_ != nullptr) budget_->give_back(bytes_, kept_);
}

MemoryBudget& MemoryBudget::of_process() {
    static MemoryBudget budget(budget_of_process());
    return budget;
}

// Called under the lock.
void MemoryBudget::check(std::uint64_t bytes, std::string_view what) const {
    if (bytes <= allowed_ - kept_) return;
    throw Error(
        fmt::format("{}: needs {} of memory, {} of the {} that may be used are left (the "
                    "environment variable CAIT_MEMORY changes that)",
                    what, memory_size_text(bytes), memory_size_text(allowed_ - kept_),
                    memory_size_text(allowed_)));
}

MemoryShare MemoryBudget::reserve(std::uint64_t bytes, std::string_view what) {
    std::unique_lock lock(mutex_);
    check(bytes, what);
    freed_.wait(lock, [&] {
        check(bytes, what);  // again: more may be kept by now
        return passing_ == 0 || passing_ + bytes <= allowed_ - kept_;
    });
    passing_ += bytes;
    return {this, bytes, false};
}

MemoryShare MemoryBudget::keep(std::uint64_t bytes, std::string_view what) {
    const std::lock_guard lock(mutex_);
    check(bytes, what);
    kept_ += bytes;
    return {this, bytes, true};
}

std::uint64_t MemoryBudget::used() const {
    const std::lock_guard lock(mutex_);
    return kept_ + passing_;
}

void MemoryBudget::give_back(std::uint64_t bytes, bool kept) noexcept {
    {
        const std::lock_guard lock(mutex_);
        (kept ? kept_ : passing_) -= bytes;
    }
    freed_.notify_all();
}

std::string memory_size_text(std::uint64_t bytes) {
    constexpr std::uint64_t kMebibyte = 1 << 20;
    return bytes < kMebibyte ? fmt::format("{} bytes", bytes)
                             : fmt::format("{} MiB", bytes / kMebibyte);
}

std::uint64_t parse_memory_size(std::string_view text, std::string_view name) {
    const auto fail = [&]() -> std::uint64_t {
        throw UsageError(
            fmt::format("{}: expected a number of bytes above 0, or one like 512M or 4G, found {}",
                        name, display_name(text)));
    };
    std::uint64_t size = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, size);
    if (error != std::errc() || size == 0 || end - stop > 1) return fail();
    if (stop == end) return size;
    const std::size_t power = std::string_view("KMG").find(*stop);
    if (power == std::string_view::npos) return fail();
    const std::uint64_t unit = std::uint64_t{1} << (10 * (power + 1));
    if (__builtin_mul_overflow(size, unit, &size)) return fail();
    return size;
}

}  // namespace cait
