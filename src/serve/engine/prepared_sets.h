// The sets of outputs that a model is prepared for. Each takes memory, so only a few stay: the
// one that was asked for longest ago makes room for a new one, but never those that the server's
// own routes need, whatever anybody asks for.
#pragma once

#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cait/session.h"
#include "serve/memory_account.h"

namespace cait::serve {

class PreparedSets {
public:
    using Taps = std::vector<std::string>;  // in any order
    static constexpr std::size_t kMostRare = 16;

    // `lasting` are those that stay once they were asked for; `weights` the bytes that the model
    // keeps beside what the session made of them.
    PreparedSets(Session session, std::shared_ptr<MemoryAccount> account, std::vector<Taps> lasting,
                 std::uint64_t weights);

    // Prepares the session unless it is. While somebody holds what is returned, the set stays.
    // Throws HttpError: 413 where these outputs never fit into memory, 503 where they do not now,
    // and for a rare set while another one is being prepared.
    std::shared_ptr<const void> get(Taps taps);

    std::size_t size() const;

private:
    struct Set {
        Taps taps;
        bool lasting = false;
        std::shared_ptr<const int> use =
            std::make_shared<const int>(0);  // shared with who holds it
        Charge memory;
    };

    bool is_lasting(const Taps& taps) const;
    std::shared_ptr<const void> find(const Taps& taps);      // under the lock
    bool evict_one();                                        // of the rare ones that nobody holds
    std::list<Set> prepare(const Taps& taps, bool lasting);  // one
    void keep_weights() noexcept;
    void check_rare();
    std::size_t rare() const;
    std::uint64_t rare_bytes() const;

    const Session session_;
    const std::shared_ptr<MemoryAccount> account_;
    std::vector<Taps> lasting_;
    const std::uint64_t weights_;
    KeptMemory kept_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::list<Set> sets_;            // what was asked for last comes first
    std::optional<Taps> preparing_;  // one at a time
};

}  // namespace cait::serve
