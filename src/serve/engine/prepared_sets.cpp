#include "serve/engine/prepared_sets.h"

#include <fmt/format.h>

#include <algorithm>

#include "serve/http/message.h"

namespace cait::serve {

namespace {

// A session keeps one plan for all orders of the same taps.
void bring_in_order(PreparedSets::Taps& taps) {
    std::ranges::sort(taps);
    taps.erase(std::ranges::unique(taps).begin(), taps.end());
}

}  // namespace

PreparedSets::PreparedSets(Session session, std::shared_ptr<MemoryAccount> account,
                           std::vector<Taps> lasting, std::uint64_t weights)
    : session_(std::move(session)),
      account_(std::move(account)),
      lasting_(std::move(lasting)),
      weights_(weights),
      kept_(account_) {
    std::ranges::for_each(lasting_, bring_in_order);
    keep_weights();
}

void PreparedSets::keep_weights() noexcept { kept_.hold(weights_ + session_.memory().weights); }

bool PreparedSets::is_lasting(const Taps& taps) const {
    return std::ranges::find(lasting_, taps) != lasting_.end();
}

std::size_t PreparedSets::size() const {
    const std::lock_guard lock(mutex_);
    return sets_.size();
}

std::size_t PreparedSets::rare() const {
    return std::size_t(std::ranges::count(sets_, false, &Set::lasting));
}

std::uint64_t PreparedSets::rare_bytes() const {
    std::uint64_t total = 0;
    for (const Set& set : sets_)
        if (!set.lasting) total += set.memory.bytes();
    return total;
}

std::shared_ptr<const void> PreparedSets::find(const Taps& taps) {
    const auto found = std::ranges::find(sets_, taps, &Set::taps);
    if (found == sets_.end()) return nullptr;
    sets_.splice(sets_.begin(), sets_, found);
    return found->use;
}

bool PreparedSets::evict_one() {
    for (auto it = sets_.end(); it != sets_.begin();) {
        --it;
        if (it->lasting || it->use.use_count() > 1) continue;
        session_.forget(it->taps);
        sets_.erase(it);
        return true;
    }
    return false;
}

// Before one more is prepared: their number is limited, and they take at most a quarter of the
// memory.
void PreparedSets::check_rare() {
    while (rare() >= kMostRare || rare_bytes() > account_->limit() / 4)
        if (!evict_one())
            throw HttpError(503, fmt::format("outputs: {} other sets of them are being computed "
                                             "at the moment, try again",
                                             rare()));
}

std::shared_ptr<const void> PreparedSets::get(Taps taps) {
    bring_in_order(taps);
    std::unique_lock lock(mutex_);
    if (auto known = find(taps)) return known;
    const bool lasting = is_lasting(taps);
    // A request that waits keeps a thread from others: wait for what they need, too, or not at all.
    while (preparing_) {
        if (!lasting && *preparing_ != taps)
            throw HttpError(503, "outputs: another set of them is being prepared, try again");
        changed_.wait(lock);
        if (auto known = find(taps)) return known;
    }
    if (!lasting) check_rare();
    preparing_ = taps;
    lock.unlock();
    struct End {
        PreparedSets& of;
        ~End() {
            {
                const std::lock_guard end(of.mutex_);
                of.preparing_.reset();
            }
            of.changed_.notify_all();
        }
    } end{*this};
    std::list<Set> made = prepare(taps, lasting);
    keep_weights();  // other outputs may want them in another form
    lock.lock();
    sets_.splice(sets_.begin(), made);
    auto use = sets_.front().use;
    lock.unlock();
    return use;
}

// How much it needs is known only when it is laid out, which is stopped where that is too much;
// then others make room.
std::list<PreparedSets::Set> PreparedSets::prepare(const Taps& taps, bool lasting) {
    std::list<Set> made;
    made.push_back({.taps = taps, .lasting = lasting, .memory = Charge(account_)});
    for (;;) {
        const std::uint64_t limit = made.front().memory.most();
        const std::uint64_t used = std::min(account_->used(), limit);
        const std::uint64_t room = std::max<std::uint64_t>(limit - used, 1);
        std::string why;
        try {
            session_.prepare(taps, room);
            const std::size_t bytes = session_.memory(taps).activations;
            if (made.front().memory.try_hold(bytes)) return made;
            session_.forget(taps);  // somebody was faster
        } catch (const UsageError&) {
            throw;
        } catch (const Error& error) {
            why = error.what();
        }
        {
            const std::lock_guard lock(mutex_);
            if (evict_one()) continue;
        }
        if (used == 0) throw HttpError(413, "outputs: " + why);
        throw HttpError(503, "outputs: the server's memory is taken at the moment, try again");
    }
}

}  // namespace cait::serve
