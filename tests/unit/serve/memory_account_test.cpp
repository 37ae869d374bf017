#include "serve/memory_account.h"

#include <thread>

#include "serve/protocol/tensor_json.h"
#include "unit/serve/support.h"

namespace cait::serve {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kMebibyte = 1 << 20;

std::shared_ptr<MemoryAccount> account_of(std::uint64_t mebibytes) {
    return std::make_shared<MemoryAccount>(mebibytes * kMebibyte);
}

TEST(MemoryAccount, RefusesWhatNeverFitsAndWhatDoesNotFitNow) {
    const auto account = account_of(10);
    Charge one(account), other(account);
    one.hold(6 * kMebibyte, "body");
    const Refusal never = refusal_of([&] { other.hold(11 * kMebibyte, "body"); });
    EXPECT_EQ(never.status, 413);
    EXPECT_THAT(never.text, HasSubstr("body: needs 11 MiB"));
    EXPECT_EQ(refusal_of([&] { other.hold(5 * kMebibyte, "body"); }).status, 503);
    EXPECT_EQ(other.bytes(), 0U);  // as it was
    EXPECT_EQ(account->used(), 6 * kMebibyte);
    one.lower_to(kMebibyte);
    other.hold(5 * kMebibyte, "body");
    EXPECT_EQ(account->used(), 6 * kMebibyte);
}

TEST(MemoryAccount, GetsBackWhatGoesOutOfScope) {
    const auto account = account_of(10);
    {
        Charge one(account);
        one.add(kMebibyte, "a");
        one.add(kMebibyte, "b");
        const Charge moved(std::move(one));
        EXPECT_EQ(moved.bytes(), 2 * kMebibyte);
        EXPECT_EQ(account->used(), 2 * kMebibyte);
    }
    EXPECT_EQ(account->used(), 0U);
}

TEST(MemoryAccount, LeavesSomeToThoseWhoCanBeAnswered) {
    const auto account = account_of(16);
    Charge receiving(account, Charge::Stage::receiving), working(account),
        small(account, Charge::Stage::small);
    EXPECT_EQ(refusal_of([&] { receiving.hold(13 * kMebibyte, "body"); }).status, 413);
    receiving.hold(12 * kMebibyte, "body");
    working.hold(2 * kMebibyte, "images");
    EXPECT_EQ(refusal_of([&] { working.add(1, "images"); }).status, 503);
    small.hold(2 * kMebibyte, "head");
    EXPECT_EQ(refusal_of([&] { small.add(1, "head"); }).status, 503);
}

TEST(MemoryAccount, ModelsTakeTheirsFirst) {
    const auto account = account_of(16);
    KeptMemory model(account);
    model.hold(6 * kMebibyte);
    EXPECT_EQ(account->limit(), 10 * kMebibyte);
    model.hold(100 * kMebibyte);  // more than there is
    EXPECT_EQ(account->limit(), 2 * kMebibyte);
    model.hold(0);
    EXPECT_EQ(account->limit(), 16 * kMebibyte);
}

TEST(MemoryAccount, CountsWhatManyThreadsTake) {
    const auto account = account_of(1);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
            Charge own(account);
            for (int times = 0; times < 20'000; ++times) {
                own.try_hold(400'000);
                own.lower_to(0);
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(account->used(), 0U);
}

TEST(MemoryAccount, ATextGrowsOnlyAsFarAsItIsCharged) {
    const auto account = account_of(1);
    Charge charge(account);
    std::string text;
    const std::string piece(10'000, 'x');
    const Refusal refused = refusal_of([&] {
        for (int i = 0; i < 1000; ++i) {
            append_charged(text, piece, 2'000'000, charge, "body");
            ASSERT_EQ(charge.bytes(), text.capacity());
        }
    });
    EXPECT_EQ(refused.status, 413);  // by itself it would fit, beside its copy it never does
    EXPECT_GT(text.size(), 300'000U);
    EXPECT_EQ(charge.bytes(), text.capacity());
    text = {};
    charge.lower_to(0);
    append_charged(text, std::string(700'000, 'x'), 700'001, charge, "body");
    EXPECT_EQ(text.capacity(), 700'000U);  // no more than it needs
}

// By what the parser really takes: numbers by doubling, texts kept twice.
TEST(MemoryToParse, CoversWhatBecomesOfAText) {
    std::string numbers = R"({"inputs":[{"data":[0)";
    for (int i = 1; i < 100'000; ++i) numbers += ",0";
    numbers += "]}]}";
    const RequestJson parsed = parse_request_json(numbers);
    EXPECT_GE(memory_to_parse(numbers),
              3 * sizeof(float) * parsed.data.at(0).numbers.size() + 20'000 * 100);
    const std::string text = R"({"a":")" + std::string(100'000, 'x') + R"("})";
    EXPECT_GE(memory_to_parse(text), 8U * 100'000U);
    EXPECT_LT(memory_to_parse(text), 9U * 100'000U);
    // Quotes that belong to the text do not end it.
    const std::string quoted =
        R"({"a":")" + std::string(1000, 'x') + R"(\"y\\\")" + std::string(1000, 'x') + R"("})";
    EXPECT_GE(memory_to_parse(quoted), 8U * 2000U);
    EXPECT_LT(memory_to_parse("{}"), 10'000U);
    EXPECT_GT(memory_to_parse("\""), 0U);
}

TEST(MemoryToParse, TextsOfTensorsAreCountedAsWell) {
    std::string many = R"({"inputs":[{"data":[")";
    for (int i = 0; i < 30'000; ++i) many += R"(",")";
    many += R"("]}]})";
    const Refusal refused = refusal_of([&] { parse_request_json(many); });
    EXPECT_EQ(refused.status, 400);
    EXPECT_THAT(refused.text, HasSubstr("at most 20000 values"));
}

}  // namespace
}  // namespace cait::serve
