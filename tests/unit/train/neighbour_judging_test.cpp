#include "train/neighbour_judging.h"

#include <gtest/gtest.h>

#include <cmath>

#include "data/open_dataset.h"
#include "engine/engine_executor.h"
#include "support/colour_model.h"
#include "unit/data/support.h"

namespace cait {
namespace {

constexpr double kTemperature = 0.5;

// Images of one colour: three to ask, labelled by their folder.
class JudgedByNeighbours : public testing::Test {
protected:
    JudgedByNeighbours() {
        put("known/a/red", 255, 0, 0);
        put("known/a/green", 0, 255, 0);
        put("known/b/green", 0, 255, 0);
        put("known/b/blue", 0, 0, 255);
        put("asked/a/red", 255, 0, 0);    // nearest: a's red
        put("asked/b/blue", 0, 0, 255);   // nearest: b's blue
        put("asked/b/other", 255, 0, 0);  // nearest: a's red, which is wrong
    }

    void put(const std::string& name, int red, int green, int blue) const {
        data_test::put(folder_ / (name + ".png"),
                       data_test::png(test::solid(std::uint8_t(red), std::uint8_t(green),
                                                  std::uint8_t(blue))));
    }
    DatasetPtr open(const char* name) const {
        return open_dataset("folder:" + (folder_ / name).string(), Split::train);
    }
    Metrics judged(std::size_t k) const {
        const Model model = test::colour_model(1);
        const EngineExecutor executor(model, {});
        ProcessGroup group;
        return judge_by_neighbours(executor, model, {open("known"), open("asked")},
                                   {.tap = "features",
                                    .neighbours = k,
                                    .temperature = kTemperature,
                                    .batch = 2,
                                    .threads = 1,
                                    .progress = {}},
                                   group);
    }

    TemporaryFolder folder_;
};

TEST_F(JudgedByNeighbours, TheNearestGivesItsLabel) {
    const Metrics found = judged(1);
    EXPECT_EQ(found.images(), 3U);
    EXPECT_NEAR(found.top1(), 2.0 / 3, 1e-12);
    EXPECT_EQ(found.count(0, 0), 1U);
    EXPECT_EQ(found.count(1, 1), 1U);
    EXPECT_EQ(found.count(1, 0), 1U);
    EXPECT_EQ(found.count(0, 1), 0U);
}

// All four vote: one with the weight exp(1 / temperature), three with 1.
TEST_F(JudgedByNeighbours, VotesAreProbabilities) {
    const Metrics found = judged(4);
    const double near = std::exp(1 / kTemperature), own = (near + 1) / (near + 3);
    EXPECT_NEAR(found.top1(), 2.0 / 3, 1e-12);
    EXPECT_NEAR(found.loss(), -(2 * std::log(own) + std::log(1 - own)) / 3, 1e-5);
}

}  // namespace
}  // namespace cait
