// The tables of AutoAugment and RandAugment against timm's, seen from outside: what is drawn how
// often.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "data/augment/policy.h"
#include "golden/golden_case.h"
#include "support/case_count.h"
#include "unit/data/augment/goodness.h"
#include "unit/data/augment/kinds.h"

namespace cait {
namespace {

constexpr int kImages = 100'000;

// An operation and how far its number is from doing nothing, whatever the sign; in millionths.
using Seen = std::pair<Operation, std::int64_t>;

Seen seen(const OperationCall& call) {
    return {call.operation,
            std::llround(1e6 * std::fabs(call.argument - test::neutral(call.operation)))};
}

Seen expected_of(const std::string& kind, double magnitude) {
    RandomStream random(1, "sign");
    return seen(at_magnitude(test::kKinds.at(kind), magnitude, random));
}

template <class Key>
void expect_drawn(const std::map<Key, int>& counts, const std::map<Key, double>& shares,
                  const std::string& what) {
    std::vector<int> found;
    std::vector<double> expected;
    double sum = 0;
    for (const auto& [key, share] : shares) {
        const auto one = counts.find(key);
        found.push_back(one == counts.end() ? 0 : one->second);
        expected.push_back(share);
        sum += share;
    }
    ASSERT_NEAR(sum, 1, 1e-9) << what;
    for (const auto& [key, count] : counts)
        EXPECT_TRUE(shares.contains(key)) << what << ": timm never draws " << count << " of these";
    test::expect_shares(found, expected, what);
}

TEST(PolicyTables, OfAutoAugmentAreTimms) {
    const nlohmann::json file = golden::read_json("policies.json");
    test::CaseCount count(4);
    for (const auto& [name, pairs] : file["auto"].items()) {
        ++count;
        using Both = std::pair<Seen, Seen>;
        ASSERT_EQ(pairs.size(), 25U);
        std::map<Both, double> shares;
        for (const auto& pair : pairs)
            for (const bool first : {false, true})
                for (const bool second : {false, true}) {
                    const double p = pair[0][1], q = pair[1][1];
                    const double share = (first ? p : 1 - p) * (second ? q : 1 - q) / 25;
                    const Seen nothing = seen({});
                    if (share > 1e-12)
                        shares[{first ? expected_of(pair[0][0], pair[0][2]) : nothing,
                                second ? expected_of(pair[1][0], pair[1][2]) : nothing}] += share;
                }
        const Policy policy = parse_policy(name);
        RandomStream random(11, name);
        std::map<Both, int> counts;
        for (int i = 0; i < kImages; ++i) {
            const OperationList list = draw(policy, random);
            ASSERT_EQ(list.count, 2U);
            ++counts[{seen(list.calls[0]), seen(list.calls[1])}];
        }
        expect_drawn(counts, shares, name);
    }
}

TEST(PolicyTables, OfRandAugmentAreTimms) {
    const nlohmann::json file = golden::read_json("policies.json");
    test::CaseCount count(5);
    for (const auto& [name, weights] : file["rand"].items()) {
        ++count;
        double total = 0;
        for (const auto& [kind, weight] : weights.items()) total += weight.get<double>();
        std::map<Seen, double> shares;
        for (const auto& [kind, weight] : weights.items())
            shares[expected_of(kind, 9)] += weight.get<double>() / total;
        ASSERT_EQ(shares.size(), weights.size()) << "magnitude 9 tells the kinds apart";
        const Policy policy = parse_policy(name + "-m9-n1-p1");
        RandomStream random(12, name);
        std::map<Seen, int> counts;
        for (int i = 0; i < kImages; ++i) ++counts[seen(draw(policy, random).calls[0])];
        expect_drawn(counts, shares, name);
    }
}

}  // namespace
}  // namespace cait
