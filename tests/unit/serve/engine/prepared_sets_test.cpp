#include "serve/engine/prepared_sets.h"

#include <atomic>
#include <bit>
#include <thread>

#include "unit/serve/support.h"

namespace cait::serve {
namespace {

using Taps = PreparedSets::Taps;

const Taps kNames{"class_attention.0", "features",         "logits",
                  "self_attention.0",  "self_attention.1", "tokens"};

// One of the 63 sets.
Taps set_of(unsigned number) {
    Taps taps;
    for (unsigned i = 0; i < kNames.size(); ++i)
        if ((number >> i & 1) != 0) taps.push_back(kNames[i]);
    return taps;
}

class PreparedSetsTest : public testing::Test {
protected:
    bool is_prepared(const Taps& taps) const { return session_.memory(taps).activations > 0; }
    std::uint64_t bytes_of_one() {
        session_.prepare({"tokens"});
        const std::uint64_t bytes = session_.memory({"tokens"}).activations;
        session_.forget({"tokens"});
        return bytes;
    }

    Session session_{tiny_model(), {.threads = 1, .batch = 1}};
    std::shared_ptr<MemoryAccount> account_ =
        std::make_shared<MemoryAccount>(std::uint64_t{1} << 30);
    PreparedSets sets_{session_, account_, {{"logits"}, {"features"}}, 1000};
};

TEST_F(PreparedSetsTest, RareOnesMakeRoomForOthersAndLastingOnesStay) {
    sets_.get({"features"});
    for (unsigned i = 1; i < 64; ++i) sets_.get(set_of(i));
    EXPECT_TRUE(is_prepared({"features"}));
    EXPECT_TRUE(is_prepared({"logits"}));
    EXPECT_EQ(sets_.size(), PreparedSets::kMostRare + 2);
    EXPECT_TRUE(is_prepared(set_of(63)));
    EXPECT_FALSE(is_prepared(set_of(3)));
    std::uint64_t bytes = 0;
    for (unsigned i = 1; i < 64; ++i) bytes += session_.memory(set_of(i)).activations;
    EXPECT_EQ(account_->used(), bytes);  // what is gone is given back
}

TEST_F(PreparedSetsTest, TheOneThatWasAskedForLongestAgoGoes) {
    for (unsigned i = 32; i < 32 + PreparedSets::kMostRare; ++i) sets_.get(set_of(i));
    sets_.get(set_of(32));  // again
    sets_.get(set_of(63));
    EXPECT_TRUE(is_prepared(set_of(32)));
    EXPECT_FALSE(is_prepared(set_of(33)));
}

TEST_F(PreparedSetsTest, TheOrderOfOutputsDoesNotMatter) {
    sets_.get({"tokens", "logits"});
    sets_.get({"logits", "tokens", "logits"});
    EXPECT_EQ(sets_.size(), 1U);
    EXPECT_EQ(session_.plans(), 1U);
}

TEST_F(PreparedSetsTest, WhatIsHeldStays) {
    std::vector<std::shared_ptr<const void>> held;
    for (unsigned i = 32; i < 32 + PreparedSets::kMostRare; ++i)
        held.push_back(sets_.get(set_of(i)));
    EXPECT_EQ(refusal_of([&] { sets_.get(set_of(63)); }).status, 503);
    EXPECT_FALSE(is_prepared(set_of(63)));
    sets_.get({"features"});  // a route's is none of those
    held.pop_back();
    sets_.get(set_of(63));
    EXPECT_TRUE(is_prepared(set_of(32)));
    EXPECT_FALSE(is_prepared(set_of(31 + PreparedSets::kMostRare)));
}

TEST_F(PreparedSetsTest, RareOnesTakeAQuarterOfTheMemoryAndRefuseBeforeItIsTaken) {
    for (unsigned i = 1; i < 64; ++i) sets_.get(set_of(i));  // weights in all forms
    const std::uint64_t one = bytes_of_one();
    const SessionMemory kept = session_.memory(Taps());
    const auto small = std::make_shared<MemoryAccount>(kept.weights + kept.activations + 40 * one);
    Session session(tiny_model(), {.threads = 1, .batch = 1});
    Charge others(small, Charge::Stage::small);
    PreparedSets sets(session, small, {{"logits"}}, 0);
    const std::uint64_t limit = small->limit();
    for (unsigned i = 32; i < 64; ++i) sets.get(set_of(i));
    EXPECT_LE(small->used(), limit / 4 + 3 * one);
    others.hold(small->limit() - small->used(), "test");
    EXPECT_EQ(session.memory({"logits"}).activations, 0U);
    const std::size_t before = sets.size();
    sets.get({"logits"});  // the rare ones make room
    EXPECT_GT(session.memory({"logits"}).activations, 0U);
    EXPECT_LT(sets.size(), before);
}

TEST_F(PreparedSetsTest, WithoutMemoryNothingIsPrepared) {
    Charge others(account_, Charge::Stage::small);
    others.hold(account_->limit(), "test");
    EXPECT_EQ(refusal_of([&] { sets_.get({"tokens"}); }).status, 503);
    EXPECT_FALSE(is_prepared({"tokens"}));
    others.lower_to(0);
    sets_.get({"tokens"});
    EXPECT_TRUE(is_prepared({"tokens"}));
}

// Runs go on with what they have while it is forgotten and made again.
TEST_F(PreparedSetsTest, ManyThreadsAskAndRun) {
    const Tensor image = Tensor::zeros(DType::f32, {1, 3, 16, 16});
    const std::vector<float> expected = [&] {
        const Tensor tokens = session_.run(image, {"tokens"}).at("tokens");
        return std::vector<float>(tokens.floats().begin(), tokens.floats().end());
    }();
    std::atomic<int> ran = 0, wrong = 0;
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < 4; ++thread)
        threads.emplace_back([&, thread] {
            for (unsigned i = 0; i < 60; ++i) {
                const Taps taps = set_of(32 + (thread * 7 + i) % 32);  // all have tokens
                const Refusal refused = refusal_of([&] {
                    const auto held = sets_.get(taps);
                    const Tensor tokens = session_.run(image, taps).at("tokens");
                    if (!std::ranges::equal(tokens.floats(), expected)) ++wrong;
                    ++ran;
                });
                if (refused.status != 0 && refused.status != 503) ++wrong;
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(ran, 60);
}

}  // namespace
}  // namespace cait::serve
