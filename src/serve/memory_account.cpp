#include "serve/memory_account.h"

#include <fmt/format.h>

#include "serve/http/message.h"
#include "system/memory_budget.h"

namespace cait::serve {

std::shared_ptr<MemoryAccount> MemoryAccount::of_process() {
    return std::make_shared<MemoryAccount>(MemoryBudget::of_process().allowed());
}

std::uint64_t MemoryAccount::limit() const noexcept {
    const std::uint64_t taken = kept();
    return std::max(allowed_ - std::min(taken, allowed_), allowed_ / 8);
}

bool MemoryAccount::take(std::uint64_t bytes, std::uint64_t most) noexcept {
    std::uint64_t before = used_.load(std::memory_order_relaxed);
    do {
        if (bytes > most || before > most - bytes) return false;
    } while (!used_.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
    return true;
}

std::uint64_t Charge::most() const noexcept {
    const std::uint64_t limit = account_->limit();
    if (stage_ == Stage::small) return limit;
    return limit / 8 * (stage_ == Stage::receiving ? 6 : 7);
}

bool Charge::try_hold(std::uint64_t bytes) noexcept {
    if (bytes <= bytes_) {
        lower_to(bytes);
        return true;
    }
    if (!account_->take(bytes - bytes_, most())) return false;
    bytes_ = bytes;
    return true;
}

void Charge::hold(std::uint64_t bytes, std::string_view what) {
    if (try_hold(bytes)) return;
    if (bytes > most())
        throw HttpError(413, fmt::format("{}: needs {} of memory, this server has {} for requests",
                                         what, memory_size_text(bytes), memory_size_text(most())));
    throw HttpError(503,
                    fmt::format("{}: the server's memory is taken at the moment, try again", what));
}

void Charge::lower_to(std::uint64_t bytes) noexcept {
    if (bytes >= bytes_) return;
    account_->give_back(bytes_ - bytes);
    bytes_ = bytes;
}

// Into new memory rather than by reserve(), which doubles whatever it is asked for.
void append_charged(std::string& text, std::string_view more, std::size_t most, Charge& charge,
                    std::string_view what) {
    const std::size_t needed = text.size() + more.size();
    if (needed > text.capacity()) {
        const std::size_t inside = std::string().capacity();  // costs nothing
        const std::size_t old = text.capacity() > inside ? text.capacity() : 0;
        const std::size_t grown = std::max({needed, std::min(2 * old, most), 2 * inside});
        charge.add(grown, what);
        try {
            std::string copy;
            copy.reserve(grown);
            copy.append(text);
            text.swap(copy);
        } catch (...) {
            charge.lower_by(grown);
            throw;
        }
        charge.lower_by(old);
    }
    text.append(more);
}

}  // namespace cait::serve
