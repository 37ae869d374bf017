#include "data/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cait/error.h"
#include "support/temporary_folder.h"
#include "unit/data/memory_dataset.h"

namespace cait {
namespace {

using data_test::MemoryDataset;
using testing::HasSubstr;

std::vector<std::string> names_of(const Dataset& dataset) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < dataset.size(); ++i) names.push_back(dataset.name(i));
    return names;
}

TEST(Holdout, TakesTheSameShareOfEveryClass) {
    const DatasetPtr all = std::make_shared<MemoryDataset>(100);
    const Holdout parts = hold_out(all, 0.1, 7);
    EXPECT_EQ(parts.kept->size(), 90U);
    ASSERT_EQ(parts.held_out->size(), 10U);
    std::int64_t odd = 0;
    for (std::size_t i = 0; i < 10; ++i) odd += parts.held_out->label(i);
    EXPECT_EQ(odd, 5);
    for (const std::string& name : names_of(*parts.held_out))
        EXPECT_THAT(names_of(*parts.kept), testing::Not(testing::Contains(name)));
}

TEST(Holdout, IsReadBackByNameWhateverJoinedTheData) {
    const TemporaryFolder folder;
    const std::filesystem::path file = folder.path() / "holdout.csv";
    const Holdout before = hold_out(std::make_shared<MemoryDataset>(40), 0.2, 1);
    write_holdout(*before.held_out, file);
    const Holdout after = read_holdout(std::make_shared<MemoryDataset>(60), file);
    EXPECT_EQ(names_of(*after.held_out), names_of(*before.held_out));
    EXPECT_EQ(after.kept->size(), 52U);
    try {
        read_holdout(std::make_shared<MemoryDataset>(5), file);
        FAIL() << "accepted";
    } catch (const Error& error) {
        EXPECT_THAT(error.what(), HasSubstr("is not among the images of memory any more"));
    }
}

TEST(Holdout, LeavesClassesOfOneImageWhole) {
    const Holdout parts = hold_out(std::make_shared<MemoryDataset>(2), 0.1, 1);
    EXPECT_EQ(parts.kept->size(), 2U);
    EXPECT_EQ(parts.held_out->size(), 0U);
}

}  // namespace
}  // namespace cait
