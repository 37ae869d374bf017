#include "models/task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "models/top_answers.h"
#include "support/temporary_folder.h"
#include "support/tiny_model.h"
#include "weights/safetensors.h"

namespace cait {
namespace {

using testing::HasSubstr;

const Task kSeveral{std::string(kMultiLabel), 0.5};
const std::vector<float> kLogits{-1, 2, 0};

std::string refusal(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

TEST(Task, OneClassHasProbabilitiesThatAddUpToOne) {
    double sum = 0;
    for (const RankedClass& one : top_answers(kLogits, 3)) sum += one.probability;
    EXPECT_NEAR(sum, 1, 1e-6);
    EXPECT_EQ(counted_answers(top_answers(kLogits, 3), {}).size(), 3U);
}

TEST(Task, SeveralClassesHaveEachTheirOwn) {
    const std::vector<RankedClass> all = top_answers(kLogits, 5, kSeveral);
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].index, 1);
    EXPECT_NEAR(all[0].probability, 1 / (1 + std::exp(-2.0)), 1e-7);
    EXPECT_NEAR(all[1].probability, 0.5, 1e-7);
    EXPECT_NEAR(all[2].probability, 1 / (1 + std::exp(1.0)), 1e-7);
    EXPECT_EQ(counted_answers(all, kSeveral).size(), 2U);  // 0.5 reaches 0.5
    EXPECT_TRUE(
        counted_answers(top_answers(std::vector<float>{-9, -9}, 2, kSeveral), kSeveral).empty());
}

TEST(Task, WhatIsDecidedIsOneNameOrAll) {
    const std::vector<std::string> names{"a", "b", "c"};
    EXPECT_EQ(decision_text(top_answers(kLogits, 3, names), {}), "b");
    EXPECT_EQ(
        decision_text(counted_answers(top_answers(std::vector<float>{1, -2, 3}, 3, names, kSeveral),
                                      kSeveral),
                      kSeveral),
        "a|c");
    EXPECT_EQ(decision_text({}, kSeveral), "");
}

TEST(Task, IsKeptInTheModelFile) {
    const TemporaryFolder folder;
    Model model = test::tiny_model(0);
    model.save(folder / "one.safetensors");
    EXPECT_EQ(Model::load(folder / "one.safetensors").task(), Task());
    EXPECT_FALSE(model.metadata().contains("cait.task"));
    model.set_task({std::string(kMultiLabel), 0.75});
    model.save(folder / "several.safetensors");
    EXPECT_EQ(Model::load(folder / "several.safetensors").task(), model.task());
}

TEST(Task, AnotherOneIsRefused) {
    Model model = test::tiny_model(0);
    EXPECT_THAT(refusal([&] {
                    model.set_task({"dream", 0});
                }),
                HasSubstr("task: expected one of classify, multi_label, segment, detect, "
                          "translate; found 'dream'"));
    for (const double threshold : {-0.1, 1.1, std::nan("")})
        EXPECT_THAT(refusal([&] {
                        model.set_task({"multi_label", threshold});
                    }),
                    HasSubstr("threshold: expected a probability"));
}

}  // namespace
}  // namespace cait
