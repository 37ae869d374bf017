// How much memory whatever comes from outside may take: image decoders, loaders, file headers and
// data sets draw from one budget before they allocate, so that a small file that promises much is
// refused by a message and not by the system.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace cait {

class MemoryBudget;

// A part of a budget, given back when it goes out of scope.
class MemoryShare {
public:
    MemoryShare() = default;
    MemoryShare(MemoryShare&& other) noexcept { swap(other); }
    MemoryShare& operator=(MemoryShare&& other) noexcept {
        MemoryShare(std::move(other)).swap(*this);
        return *this;
    }
    ~MemoryShare();

    std::uint64_t bytes() const noexcept { return bytes_; }

private:
    friend class MemoryBudget;
    MemoryShare(MemoryBudget* budget, std::uint64_t bytes, bool kept)
        : budget_(budget), bytes_(bytes), kept_(kept) {}
    void swap(MemoryShare& other) noexcept {
        std::swap(budget_, other.budget_);
        std::swap(bytes_, other.bytes_);
        std::swap(kept_, other.kept_);
    }

    MemoryBudget* budget_ = nullptr;
    std::uint64_t bytes_ = 0;
    bool kept_ = false;
};

class MemoryBudget {
public:
    explicit MemoryBudget(std::uint64_t allowed) : allowed_(allowed) {}
    MemoryBudget(const MemoryBudget&) = delete;
    MemoryBudget& operator=(const MemoryBudget&) = delete;

    // That of this process: what CAIT_MEMORY says, otherwise three quarters of the memory of the
    // machine or its container. Throws UsageError where CAIT_MEMORY is no size.
    static MemoryBudget& of_process();

    // Both throw Error ("WHAT: needs …, … may be used") for more than is left beside what is kept.
    // Which inputs are refused does not depend on what other threads do at the moment: reserve() is
    // for what ends by itself, such as decoding an image, and waits for others of its kind. Whoever
    // holds such a share must not ask for another one. keep() is for what stays.
    MemoryShare reserve(std::uint64_t bytes, std::string_view what);
    MemoryShare keep(std::uint64_t bytes, std::string_view what);

    std::uint64_t allowed() const noexcept { return allowed_; }
    std::uint64_t used() const;

private:
    friend class MemoryShare;
    void check(std::uint64_t bytes, std::string_view what) const;
    void give_back(std::uint64_t bytes, bool kept) noexcept;

    const std::uint64_t allowed_;
    mutable std::mutex mutex_;
    std::condition_variable freed_;
    std::uint64_t kept_ = 0;
    std::uint64_t passing_ = 0;
};

// "1073741824", "512M", "4G": bytes, or multiples of 1024 (K), 1024² (M) or 1024³ (G). Throws
// UsageError that begins with `name`.
std::uint64_t parse_memory_size(std::string_view text, std::string_view name);

// "512 MiB", or bytes below one of them.
std::string memory_size_text(std::uint64_t bytes);

}  // namespace cait
