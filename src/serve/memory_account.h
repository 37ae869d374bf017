// One account of the memory that requests take, made from what this process may use: bodies, what
// they become when they are read, images, plans, and answers until their clients have read them.
// Code that allocates for a client charges it here first, so that what does not fit is refused and
// not ended by the system.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace cait::serve {

class MemoryAccount {
public:
    // `allowed` bytes, of which models keep some and requests get the rest.
    explicit MemoryAccount(std::uint64_t allowed) : allowed_(allowed) {}
    MemoryAccount(const MemoryAccount&) = delete;
    MemoryAccount& operator=(const MemoryAccount&) = delete;

    // What the core's budget gives this process: CAIT_MEMORY, or a part of the container's memory.
    static std::shared_ptr<MemoryAccount> of_process();

    // What requests may take together. Models that leave next to nothing still leave an eighth.
    std::uint64_t limit() const noexcept;
    std::uint64_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
    std::uint64_t kept() const noexcept { return kept_.load(std::memory_order_relaxed); }

private:
    friend class Charge;
    friend class KeptMemory;
    bool take(std::uint64_t bytes, std::uint64_t most) noexcept;
    void give_back(std::uint64_t bytes) noexcept { used_ -= bytes; }

    const std::uint64_t allowed_;
    std::atomic<std::uint64_t> kept_ = 0;  // by models
    std::atomic<std::uint64_t> used_ = 0;  // by requests
};

// What one request, connection or plan has of the account, given back when it goes out of scope.
class Charge {
public:
    // How much of the account may be taken: bodies that are still being sent leave a quarter to
    // those that can be answered, and these an eighth to clients that ask for little, such as
    // whether the server is alive.
    enum class Stage { receiving, working, small };

    explicit Charge(std::shared_ptr<MemoryAccount> account, Stage stage = Stage::working)
        : account_(std::move(account)), stage_(stage) {}
    Charge(Charge&& other) noexcept
        : account_(std::move(other.account_)),
          stage_(other.stage_),
          bytes_(std::exchange(other.bytes_, 0)) {}
    Charge(const Charge&) = delete;
    Charge& operator=(const Charge&) = delete;
    Charge& operator=(Charge&&) = delete;
    ~Charge() { lower_to(0); }

    // From now on it holds this many bytes. Throws HttpError, opening with `what`, and leaves it as
    // it is: 413 for what never fits, 503 for what does not fit now.
    void hold(std::uint64_t bytes, std::string_view what);
    void add(std::uint64_t bytes, std::string_view what) { hold(bytes_ + bytes, what); }
    bool try_hold(std::uint64_t bytes) noexcept;
    void lower_to(std::uint64_t bytes) noexcept;
    void lower_by(std::uint64_t bytes) noexcept { lower_to(bytes_ - std::min(bytes, bytes_)); }
    void begin(Stage stage) noexcept { stage_ = stage; }

    std::uint64_t bytes() const noexcept { return bytes_; }
    std::uint64_t most() const noexcept;  // that it could hold if it were alone

private:
    std::shared_ptr<MemoryAccount> account_;
    Stage stage_;
    std::uint64_t bytes_ = 0;
};

// What a model keeps for as long as it is served. Never refused: loading has limits of its own.
class KeptMemory {
public:
    explicit KeptMemory(std::shared_ptr<MemoryAccount> account) : account_(std::move(account)) {}
    KeptMemory(const KeptMemory&) = delete;
    KeptMemory& operator=(const KeptMemory&) = delete;
    ~KeptMemory() { hold(0); }

    void hold(std::uint64_t bytes) noexcept {
        account_->kept_ += bytes - std::exchange(bytes_, bytes);
    }

private:
    std::shared_ptr<MemoryAccount> account_;
    std::uint64_t bytes_ = 0;
};

// Appends to a text that never has more than `most` bytes. What it grows by is charged before it is
// allocated, and so is the old memory that is copied from.
void append_charged(std::string& text, std::string_view more, std::size_t most, Charge& charge,
                    std::string_view what);

}  // namespace cait::serve
