// COCO's file of results, read back.
#include "evaluate/coco_results.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "support/temporary_folder.h"

namespace cait {
namespace {

nlohmann::json read_results(const std::filesystem::path& file) {
    std::ifstream stream(file);
    return nlohmann::json::parse(stream);
}

TEST(CocoResults, BoxesScoresAndMasksComeBackExactly) {
    const TemporaryFolder folder;
    const std::string file = (folder.path() / "found.json").string();
    const RunMask mask = run_mask(std::vector<std::uint8_t>{0, 1, 1, 0, 0, 1}, 3, 2);
    CocoResults results(file, {7, 90});
    const std::vector<DetectedObject> first{
        {.label = 1, .score = 0.1F, .box = {0.1F, 2, 10.7F, 3.5F}, .mask = mask}};
    results.add(42, first);
    results.add(43, {});
    const std::vector<DetectedObject> second{{.label = 0, .score = 1e-7F, .box = {0, 0, 1, 1}}};
    results.add(44, second);
    EXPECT_FALSE(std::filesystem::exists(file));
    results.finish();
    const nlohmann::json found = read_results(file);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0]["image_id"], 42);
    EXPECT_EQ(found[0]["category_id"], 90);
    EXPECT_EQ(found[0]["score"].get<float>(), 0.1F);
    EXPECT_EQ(found[0]["bbox"].get<std::vector<float>>(),
              (std::vector<float>{0.1F, 2, 10.7F - 0.1F, 1.5F}));
    EXPECT_EQ(found[0]["segmentation"]["size"], (nlohmann::json{2, 3}));
    EXPECT_EQ(mask_of_text(found[0]["segmentation"]["counts"].get<std::string>(), 3, 2), mask);
    EXPECT_EQ(found[1]["category_id"], 7);
    EXPECT_EQ(found[1]["score"].get<float>(), 1e-7F);
    EXPECT_FALSE(found[1].contains("segmentation"));
}

// '\' is a character of runs, and has a meaning in JSON.
TEST(CocoResults, EveryCharacterOfRunsIsValidJson) {
    const TemporaryFolder folder;
    const std::string file = (folder.path() / "found.json").string();
    CocoResults results(file, {1});
    std::vector<DetectedObject> all;
    bool escaped = false;
    for (std::int64_t i = 1; i < 3000; i += 7) {
        const RunMask mask{60, 60, {std::uint32_t(i), 1, std::uint32_t(3600 - i - 1)}};
        escaped = escaped || mask_text(mask).find('\\') != std::string::npos;
        all.push_back({.label = 0, .score = 0.5F, .box = {0, 0, 1, 1}, .mask = mask});
    }
    EXPECT_TRUE(escaped);
    results.add(1, all);
    results.finish();
    const nlohmann::json found = read_results(file);
    ASSERT_EQ(found.size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i)
        EXPECT_EQ(mask_of_text(found[i]["segmentation"]["counts"].get<std::string>(), 60, 60),
                  all[i].mask);
}

TEST(CocoResults, NothingFoundIsAnEmptyList) {
    const TemporaryFolder folder;
    const std::string file = (folder.path() / "found.json").string();
    CocoResults results(file, {1});
    results.finish();
    EXPECT_EQ(read_results(file), nlohmann::json::array());
}

}  // namespace
}  // namespace cait
