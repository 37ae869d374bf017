#include "data/augment/policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>

#include "cait/error.h"
#include "data/augment/operation_level.h"
#include "support/case_count.h"
#include "support/source_path.h"
#include "unit/data/augment/goodness.h"
#include "unit/data/augment/kinds.h"
#include "unit/image/picture.h"

namespace cait {
namespace {

std::string message_of(std::string_view policy) {
    try {
        parse_policy(policy);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "no error";
}

TEST(PolicyText, HasSeveralSpellingsOfOnePolicy) {
    EXPECT_EQ(parse_policy("rand-inc1-mstd0.5-m9-n2"), parse_policy("rand-m9-mstd0.5-inc1"));
    EXPECT_NE(parse_policy("rand-m9-mstd0.5"), parse_policy("rand-m9-mstd0.5-inc1"));
    EXPECT_EQ(parse_policy("3a"), parse_policy("three"));
    EXPECT_EQ(parse_policy("three-blur-grey-solarize"), parse_policy("three"));
    EXPECT_EQ(parse_policy(""), parse_policy("none"));
}

TEST(PolicyText, MeansWhatTimmMeans) {
    const auto policy = std::get<RandAugment>(parse_policy("rand-m9-mstd0.5-inc1"));
    EXPECT_EQ(policy, (RandAugment{.magnitude = 9, .magnitude_std = 0.5, .increasing = true}));
    EXPECT_EQ(std::get<RandAugment>(parse_policy("rand")), RandAugment{});
    EXPECT_TRUE(std::isinf(std::get<RandAugment>(parse_policy("rand-mstd101")).magnitude_std));
}

TEST(PolicyText, NamesWhatItDoesNotUnderstand) {
    using testing::HasSubstr;
    EXPECT_THAT(message_of("rand-m9-w0"), HasSubstr("'w0'"));
    EXPECT_THAT(message_of("rand-m9-x3"), HasSubstr("'x3'"));
    EXPECT_THAT(message_of("rand-m"), HasSubstr("'m'"));
    EXPECT_THAT(message_of("rand-m9.5"), HasSubstr("'m9.5'"));
    EXPECT_THAT(message_of("rand-inc2"), HasSubstr("'inc2'"));
    EXPECT_THAT(message_of("rand-n0"), HasSubstr("'n0'"));
    EXPECT_THAT(message_of("rand-p1.5"), HasSubstr("'p1.5'"));
    EXPECT_THAT(message_of("rand-tmine"), HasSubstr("'tmine'"));
    EXPECT_THAT(message_of("rand-mstd0.5x"), HasSubstr("'mstd0.5x'"));
    EXPECT_THAT(message_of("rand--m9"), HasSubstr("''"));
    EXPECT_THAT(message_of("original-m9"), HasSubstr("'m9'"));
    EXPECT_THAT(message_of("augmix-m3"), HasSubstr("AugMix"));
    EXPECT_THAT(message_of("randaugment"), HasSubstr("'randaugment'"));
    EXPECT_THAT(message_of("three-grey-red"),
                HasSubstr("three-grey-red: expected grey, solarize or blur, each once, found "
                          "'red'"));
    EXPECT_THAT(message_of("three-grey-grey"), HasSubstr("found 'grey'"));
    EXPECT_THAT(message_of("three-"), HasSubstr("found ''"));
}

// The stored arguments are those without a drawn sign.
TEST(OperationLevel, EqualsTimmAtEveryMagnitude) {
    const auto file =
        test::source_path(__FILE__).parent_path() / "../data" / "transforms.safetensors";
    RandomStream random(3, "signs");
    test::CaseCount count(test::kKinds.size());
    for (const test::Golden& golden : test::golden(file, "arguments")) {
        ++count;
        const std::vector<double> numbers = golden.numbers<double>();
        const std::string& kind = golden.words[1];
        ASSERT_EQ(numbers.size(), 16U);
        for (std::size_t i = 0; i < numbers.size() / 2; ++i) {
            double expected = numbers[numbers.size() / 2 + i];
            const OperationCall call = at_magnitude(test::kKinds.at(kind), numbers[i], random);
            const double neutral = test::neutral(call.operation);
            if (test::has_sign(kind) && (call.argument < neutral) != (expected < neutral))
                expected = neutral == 1 ? std::max(0.1, 2 - expected) : -expected;
            EXPECT_NEAR(call.argument, expected, 1e-12) << golden.name() << " at " << numbers[i];
        }
    }
}

// facts: what "rand-m9-mstd0.5-inc1" does at exactly magnitude 9.
TEST(OperationLevel, HasTheNumbersOfMagnitudeNine) {
    RandomStream random(1, "nine");
    const auto argument = [&](OperationKind kind) {
        return std::fabs(at_magnitude(kind, 9, random).argument);
    };
    EXPECT_DOUBLE_EQ(argument(OperationKind::rotate), 27);
    EXPECT_EQ(argument(OperationKind::posterize_increasing), 1);
    EXPECT_EQ(argument(OperationKind::solarize_increasing), 26);
    EXPECT_EQ(argument(OperationKind::solarize_add), 99);
    EXPECT_DOUBLE_EQ(argument(OperationKind::shear_x), 0.27);
    EXPECT_DOUBLE_EQ(argument(OperationKind::translate_x_rel), 0.405);
    EXPECT_NEAR(std::fabs(argument(OperationKind::colour_increasing) - 1), 0.81, 1e-12);
}

TEST(RandAugmentDraws, ChooseEveryOperationEquallyOften) {
    const RandAugment policy = RandAugment::parse("rand-m9-mstd0.5-inc1");
    RandomStream random(7, "choices");
    std::map<Operation, int> counts;
    int left_out = 0;
    constexpr int kImages = 30'000;
    for (int i = 0; i < kImages; ++i) {
        const OperationList list = policy.draw(random);
        ASSERT_EQ(list.count, 2U);
        for (const OperationCall& call : list)
            call.operation == Operation::identity ? ++left_out : ++counts[call.operation];
    }
    ASSERT_EQ(counts.size(), 15U);
    std::vector<int> cells;
    for (const auto& [operation, count] : counts) cells.push_back(count);
    test::expect_equal_shares(cells, "operations");
    test::expect_equal_shares(std::array{left_out, 2 * kImages - left_out}, "probability 0.5");
}

TEST(RandAugmentDraws, MagnitudesAreNormalAndClipped) {
    const RandAugment policy = RandAugment::parse("rand-m9-mstd0.5-inc1-p1");
    RandomStream random(8, "magnitudes");
    std::vector<double> inner;
    int clipped = 0;
    int positive = 0;
    int total = 0;
    while (total < 20'000) {
        const OperationList list = policy.draw(random);
        for (const OperationCall& call : list) {
            if (call.operation != Operation::rotate) continue;
            const double magnitude = std::fabs(call.argument) / 3;
            ASSERT_LE(magnitude, 10.0);
            ++total;
            positive += call.argument > 0 ? 1 : 0;
            if (magnitude > 10 - 1e-12)
                ++clipped;
            else
                inner.push_back(magnitude);
        }
    }
    const auto normal = [](double x) { return 0.5 * std::erfc(-(x - 9) / 0.5 / std::sqrt(2.0)); };
    test::expect_distribution(
        inner, [&](double x) { return normal(x) / normal(10); }, "magnitude");
    test::expect_shares(std::array{clipped, total - clipped},
                        std::array{1 - normal(10), normal(10)}, "clipped");
    test::expect_equal_shares(std::array{positive, total - positive}, "signs");
}

TEST(RandAugmentDraws, AnInfiniteDeviationIsUniform) {
    const RandAugment policy = RandAugment::parse("rand-m9-mstd101-p1-t3a");
    RandomStream random(9, "uniform");
    std::vector<double> radii;
    while (radii.size() < 5'000)
        for (const OperationCall& call : policy.draw(random))
            if (call.operation == Operation::blur) radii.push_back(call.argument);
    test::expect_uniform(radii, 0.1, 0.1 + 0.9 * 1.9, "blur radius");
}

TEST(RandAugmentDraws, WeightedListsDoNotRepeat) {
    const RandAugment policy = RandAugment::parse("rand-m9-n2-p1-tweights");
    RandomStream random(10, "weights");
    constexpr double kTotal = 3 + 2 + 2 + 1 + 1 + 3 * 0.25 + 7 * 0.05;
    int rotations_first = 0;
    constexpr int kImages = 20'000;
    for (int i = 0; i < kImages; ++i) {
        const OperationList list = policy.draw(random);
        ASSERT_NE(list.calls[0].operation, list.calls[1].operation);
        rotations_first += list.calls[0].operation == Operation::rotate ? 1 : 0;
    }
    test::expect_shares(std::array{rotations_first, kImages - rotations_first},
                        std::array{3 / kTotal, 1 - 3 / kTotal}, "rotation first");
}

// Of the pairs of the paper's policy, by probabilities that can be counted by hand.
TEST(AutoAugmentDraws, FollowTheTable) {
    const AutoAugment policy = AutoAugment::parse("original");
    RandomStream random(11, "table");
    constexpr int kImages = 50'000;
    int inverted = 0;
    int sheared = 0;
    int sharpened = 0;
    for (int i = 0; i < kImages; ++i) {
        const OperationList list = policy.draw(random);
        ASSERT_EQ(list.count, 2U);
        for (const OperationCall& call : list) {
            inverted += call.operation == Operation::invert ? 1 : 0;
            sheared += call.operation == Operation::shear_x ? 1 : 0;
            if (call.operation != Operation::sharpness) continue;
            ++sharpened;
            EXPECT_DOUBLE_EQ(call.argument, 0.7 * 1.8 + 0.1);
        }
    }
    const auto expect_share = [&](int count, double share, const char* what) {
        test::expect_shares(std::array{count, kImages - count}, std::array{share, 1 - share}, what);
    };
    expect_share(inverted, (0.6 + 0.6 + 0.6) / 25, "invert");
    expect_share(sheared, 0.6 / 25, "shear");
    expect_share(sharpened, 0.4 / 25, "sharpness");
}

TEST(AutoAugmentDraws, ResearchVariantPosterisesMore) {
    RandomStream random(12, "research");
    const AutoAugment policy = AutoAugment::parse("originalr");
    for (int i = 0; i < 2'000; ++i)
        for (const OperationCall& call : policy.draw(random))
            if (call.operation == Operation::posterize) {
                EXPECT_LE(call.argument, 2);
            }
}

TEST(TrivialAugmentDraws, HaveTorchvisionsStrengths) {
    using T = TrivialAugment;
    EXPECT_NEAR(T::call(1, 30, false).argument, 0.99, 1e-7);
    EXPECT_NEAR(T::call(1, 15, true).argument, -0.495, 1e-7);
    EXPECT_EQ(T::call(3, 30, false), (OperationCall{Operation::translate_x, -32}));
    EXPECT_EQ(T::call(3, 14, true), (OperationCall{Operation::translate_x, 14}));
    EXPECT_NEAR(T::call(5, 10, false).argument, 45, 1e-5);
    EXPECT_NEAR(T::call(6, 30, true).argument, 0.01, 1e-7);
    EXPECT_EQ(T::call(10, 0, false), (OperationCall{Operation::posterize, 8}));
    EXPECT_EQ(T::call(10, 30, false), (OperationCall{Operation::posterize, 2}));
    EXPECT_EQ(T::call(10, 13, false), (OperationCall{Operation::posterize, 5}));
    EXPECT_NEAR(T::call(11, 10, false).argument, 170, 1e-4);
}

TEST(TrivialAugmentDraws, ChooseEveryOperationEquallyOften) {
    RandomStream random(13, "trivial");
    std::map<Operation, int> counts;
    for (int i = 0; i < 20'000; ++i) {
        const OperationList list = TrivialAugment{}.draw(random);
        ASSERT_EQ(list.count, 1U);
        ++counts[list.calls[0].operation];
    }
    ASSERT_EQ(counts.size(), 14U);
    std::vector<int> cells;
    for (const auto& [operation, count] : counts) cells.push_back(count);
    test::expect_equal_shares(cells, "operations");
}

TEST(ThreeAugmentDraws, AreThreeEqualParts) {
    RandomStream random(14, "three");
    std::map<Operation, int> counts;
    std::vector<double> radii;
    for (int i = 0; i < 15'000; ++i) {
        const OperationCall call = ThreeAugment{}.draw(random).calls[0];
        ++counts[call.operation];
        if (call.operation == Operation::blur) radii.push_back(call.argument);
        if (call.operation == Operation::solarize) {
            EXPECT_EQ(call.argument, 128);
        }
    }
    test::expect_equal_shares(
        std::array{counts[Operation::grey], counts[Operation::solarize], counts[Operation::blur]},
        "parts");
    test::expect_uniform(radii, 0.1, 2, "blur radius");
}

// The rows of table 6.2 of the thesis: grey alone, grey and blur, all three.
TEST(ThreeAugmentDraws, AreEqualPartsOfWhatIsNamed) {
    const auto counts = [](const char* text) {
        RandomStream random(15, "three");
        const Policy policy = parse_policy(text);
        std::map<Operation, int> result;
        for (int i = 0; i < 10'000; ++i) ++result[draw(policy, random).calls[0].operation];
        return result;
    };
    EXPECT_THAT(counts("three-grey"), testing::ElementsAre(testing::Pair(Operation::grey, 10'000)));
    std::map<Operation, int> two = counts("three-grey-blur");
    EXPECT_EQ(two.size(), 2U);
    test::expect_equal_shares(std::array{two[Operation::grey], two[Operation::blur]}, "parts");
    EXPECT_EQ(counts("three-grey-solarize-blur"), counts("three"));
}

}  // namespace
}  // namespace cait
