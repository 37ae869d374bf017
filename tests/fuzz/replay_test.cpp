// Every seed of every fuzz target, through the same entry function, in an ordinary build: what a
// fuzzer has once found is tried whenever anybody runs the tests. An abort is a finding.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "fuzz/targets.h"
#include "support/source_path.h"
#include "system/file_bytes.h"

namespace cait {
namespace {

namespace fs = std::filesystem;

fs::path corpus() { return test::source_path(__FILE__).parent_path() / "corpus"; }

std::vector<fs::path> seeds_of(const std::string& target) {
    std::vector<fs::path> seeds;
    if (fs::is_directory(corpus() / target))
        for (const auto& entry : fs::directory_iterator(corpus() / target))
            seeds.push_back(entry.path());
    std::ranges::sort(seeds);
    return seeds;
}

class FuzzSeeds : public testing::TestWithParam<fuzz::Target> {};

TEST_P(FuzzSeeds, AreNoFindings) {
    const std::vector<fs::path> seeds = seeds_of(GetParam().name);
    ASSERT_FALSE(seeds.empty()) << "tests/fuzz/corpus/" << GetParam().name << " has no seed";
    for (const fs::path& seed : seeds) {
        SCOPED_TRACE(seed.string());
        const std::vector<std::byte> bytes = read_bytes(seed);
        const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
        EXPECT_EQ(GetParam().run(data, bytes.size()), 0);
        // What is cut off, and what is not there at all, must be as harmless.
        GetParam().run(data, bytes.size() / 2);
        GetParam().run(data, 0);
    }
}

INSTANTIATE_TEST_SUITE_P(All, FuzzSeeds, testing::ValuesIn(fuzz::targets()),
                         [](const auto& of) { return of.param.name; });

TEST(FuzzCorpus, EveryFolderBelongsToATarget) {
    std::set<std::string> targets;
    for (const fuzz::Target& target : fuzz::targets()) targets.insert(target.name);
    EXPECT_GE(targets.size(), 19U);
    std::size_t seeds = 0;
    for (const auto& entry : fs::directory_iterator(corpus())) {
        EXPECT_TRUE(targets.contains(entry.path().filename().string())) << entry.path();
        seeds += seeds_of(entry.path().filename().string()).size();
    }
    EXPECT_GE(seeds, 58U);
}

}  // namespace
}  // namespace cait
