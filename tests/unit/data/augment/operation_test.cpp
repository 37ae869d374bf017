// Every operation through apply(), the one door that policies use, against the pixels of Pillow,
// timm and torchvision.
#include "data/augment/operation.h"

#include <gtest/gtest.h>

#include <set>

#include "data/augment/policy.h"
#include "support/case_count.h"
#include "support/source_path.h"
#include "unit/data/augment/kinds.h"
#include "unit/image/picture.h"

namespace cait {
namespace {

constexpr Colour kFill{124, 116, 104};

const std::map<std::string, Interpolation> kLookups{{"-", Interpolation::bicubic},
                                                    {"nearest", Interpolation::nearest},
                                                    {"bilinear", Interpolation::bilinear},
                                                    {"bicubic", Interpolation::bicubic}};

std::filesystem::path transforms() {
    return test::source_path(__FILE__).parent_path() / "../data" / "transforms.safetensors";
}

class AppliedOperations : public testing::Test {
protected:
    // Smooth lookups round in another order than Pillow; whatever stays where it is, is equal.
    void expect_applied(const OperationCall& call, const OperationStyle& style, Image image,
                        const test::Golden& golden) {
        apply(call, style, random_, image, workspace_);
        const test::Difference difference = test::compare(image, golden.image());
        const bool smooth =
            is_geometric(call.operation) && style.interpolation != Interpolation::nearest;
        EXPECT_LE(difference.most, smooth ? 1 : 0) << golden.name();
        EXPECT_GE(difference.equal_share, smooth ? 0.98 : 1) << golden.name();
    }

    RandomStream random_{15, "apply"};
    OperationWorkspace workspace_;
};

// Words: OPERATION ARGUMENT INTERPOLATION SIZE CHANNELS.
TEST_F(AppliedOperations, EqualPillow) {
    std::map<std::string, Operation> operations;
    for (int i = 0; i <= int(Operation::grey); ++i)
        operations.emplace(operation_name(Operation(i)), Operation(i));
    std::set<Operation> applied{Operation::identity};
    test::CaseCount count(100);
    for (const test::Golden& golden : test::golden(test::image_data())) {
        const auto found = operations.find(golden.words[0]);
        if (found == operations.end()) continue;  // resizes, hue and mirroring are no operations
        const auto [width, height] = test::sizes(golden.words[3]);
        expect_applied({found->second, std::stod(golden.words[1])},
                       {kLookups.at(golden.words[2]), kFill},
                       test::picture(width, height, std::stoll(golden.words[4])), golden);
        applied.insert(found->second);
        ++count;
    }
    EXPECT_EQ(applied.size(), operations.size());
}

// Words: policy KIND MAGNITUDE SIGN SIZE; from the magnitude to the pixels.
TEST_F(AppliedOperations, OfEveryKindEqualTimmsAtAMagnitude) {
    std::set<std::string> kinds;
    test::CaseCount count(66);
    for (const test::Golden& golden : test::golden(transforms(), "policy")) {
        const std::string& kind = golden.words[1];
        const double magnitude = std::stod(golden.words[2]);
        OperationCall call;
        const auto draw = [&] {
            call = at_magnitude(test::kKinds.at(kind), magnitude, random_);
            return call.argument > test::neutral(call.operation) ? "plus" : "minus";
        };
        ASSERT_EQ(test::has_sign(kind), golden.words[3] != "-") << kind;
        for (int tries = 0; draw() != golden.words[3] && test::has_sign(kind); ++tries)
            ASSERT_LT(tries, 100) << "the sign is always the same";
        const auto [width, height] = test::sizes(golden.words[4]);
        expect_applied(call, {Interpolation::bicubic, kFill}, test::picture(width, height, 3),
                       golden);
        kinds.insert(kind);
        ++count;
    }
    EXPECT_EQ(kinds.size(), test::kKinds.size());
}

// Words: trivial INDEX STRENGTH SIGN SIZE.
TEST_F(AppliedOperations, OfTrivialAugmentEqualTorchvisions) {
    std::set<int> indices;
    test::CaseCount count(43);
    for (const test::Golden& golden : test::golden(transforms(), "trivial")) {
        const int index = std::stoi(golden.words[1]);
        const auto [width, height] = test::sizes(golden.words[4]);
        expect_applied(
            TrivialAugment::call(index, std::stoi(golden.words[2]), golden.words[3] == "minus"),
            TrivialAugment::style(), test::picture(width, height, 3), golden);
        indices.insert(index);
        ++count;
    }
    EXPECT_EQ(indices.size(), std::size_t(TrivialAugment::kOperations));
}

}  // namespace
}  // namespace cait
