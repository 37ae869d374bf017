// The stored numbers themselves: nobody has lost some of them, and our pattern is that of the
// scripts which made them.
#include <gtest/gtest.h>

#include <bit>
#include <map>

#include "golden/golden_case.h"
#include "golden/pattern.h"
#include "support/case_count.h"

namespace cait {
namespace {

// Tests that go through a list by its index, one test for each entry, run as many as there are.
TEST(GoldenFiles, HaveTheirCases) {
    std::map<std::string, int> families;
    for (const golden::Case& one : golden::read_cases()) {
        EXPECT_FALSE(one.outputs.empty()) << one.name;
        ++families[one.name.substr(0, one.name.find('_'))];
    }
    const std::map<std::string, int> expected{
        {"cait", 24},   {"ceit", 9},          {"deepvit", 14}, {"deit", 9},    {"deit3", 11},
        {"dinov2", 15}, {"patchconvnet", 15}, {"regnet", 9},   {"resmlp", 21}, {"resnet", 19},
        {"upernet", 9}, {"vit", 12},          {"volo", 13}};
    EXPECT_EQ(families, expected);
    EXPECT_EQ(golden::read_json("losses.json")["cases"].size(), 15U);
    EXPECT_EQ(golden::read_json("steps.json")["cases"].size(), 9U);
    EXPECT_EQ(golden::read_json("mix_token.json")["cases"].size(), 3U);
    EXPECT_EQ(golden::read_json("beyond_labels.json")["losses"].size(), 8U);
    EXPECT_EQ(golden::read_json("beyond_labels.json")["heads"].size(), 3U);
    int trainings = 0;
    for (const auto& file : std::filesystem::directory_iterator(golden::folder()))
        trainings += file.path().filename().string().ends_with("_training.safetensors") ? 1 : 0;
    EXPECT_EQ(trainings, 14);
}

TEST(GoldenFiles, ThePatternIsThatOfTheScripts) {
    const nlohmann::json file = golden::read_json("pattern.json");
    test::CaseCount count(15);
    for (const auto& one : file) {
        ++count;
        const std::string name = one["name"];
        const Tensor found =
            golden::pattern(name, Shape(one["shape"].get<std::vector<std::int64_t>>()));
        const auto first = one["first_bits"].get<std::vector<std::uint32_t>>();
        ASSERT_FALSE(first.empty());
        for (std::size_t i = 0; i < first.size(); ++i)
            EXPECT_EQ(std::bit_cast<std::uint32_t>(found.floats()[i]), first[i]) << name << i;
        const std::string_view bytes(reinterpret_cast<const char*>(found.bytes()),
                                     found.byte_size());
        EXPECT_EQ(golden::hash_of(bytes),
                  std::stoull(one["fnv1a_of_bytes"].get<std::string>(), nullptr, 16))
            << name;
    }
}

}  // namespace
}  // namespace cait
