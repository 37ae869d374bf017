// `cait train --seeds`: several runs that differ in their seed, what is said of them all, and that
// a finished one is not trained again.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "e2e/train_run.h"

namespace cait::e2e {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class TrainSeeds : public TrainRun {
protected:
    TrainSeeds() { colours("other", 5); }

    Words seeds(int count, const Words& more = {}) const {
        Words words = recipe("study", {"--epochs", "2", "--seeds", std::to_string(count)});
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    nlohmann::json json() const { return nlohmann::json::parse(read(path("study/seeds.json"))); }

    // The last validation in a run's own log.
    double final_value(int seed, const char* name) const {
        std::istringstream lines(read(path(fmt::format("study/seed-{}/metrics.jsonl", seed))));
        double value = NAN;
        for (std::string line; std::getline(lines, line);)
            if (const auto record = nlohmann::json::parse(line); record.at("kind") == "val")
                value = record.at(name).get<double>();
        return value;
    }
};

// numpy.mean and numpy.std(ddof=1) by their definitions, on the runs' own logs.
TEST_F(TrainSeeds, MeanAndDeviationAreThoseOfTheRunsOwnMetrics) {
    const Finished run = cait(seeds(3, {"--test", "folder:" + path("other")}));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_THAT(run.out, AllOf(HasSubstr("seed 0 (1 of 3)"), HasSubstr("seed 2 (3 of 3)"),
                               HasSubstr("3 seeds at the final epoch")));
    const nlohmann::json found = json();
    EXPECT_EQ(found["requested"], 3);
    for (const char* name : {"top1", "top5", "loss"}) {
        std::vector<double> values;
        for (int seed = 0; seed < 3; ++seed) values.push_back(final_value(seed, name));
        const double mean = (values[0] + values[1] + values[2]) / 3;
        double squares = 0;
        for (const double value : values) squares += std::pow(value - mean, 2);
        const nlohmann::json& spread = found["tests"][0][name];
        EXPECT_NEAR(spread["mean"].get<double>(), mean, 1e-12) << name;
        EXPECT_NEAR(spread["std"].get<double>(), std::sqrt(squares / 2), 1e-12) << name;
        EXPECT_EQ(spread["min"], *std::ranges::min_element(values)) << name;
        EXPECT_EQ(spread["max"], *std::ranges::max_element(values)) << name;
    }
    EXPECT_NE(final_value(0, "loss"), final_value(1, "loss"));
    EXPECT_EQ(found["tests"][1]["test"], "folder:" + path("val") + ", averaged weights");
    EXPECT_EQ(found["tests"][2]["test"], "folder:" + path("other"));

    // The test set was shown to the final weights, not to the best.
    const Finished evaluated = cait({"eval", "--weights", path("study/seed-1/last.safetensors"),
                                     "--data", "folder:" + path("other"), "--json"});
    ASSERT_EQ(evaluated.status, 0) << evaluated.err;
    EXPECT_NEAR(found["runs"][1]["tests"]["folder:" + path("other")]["loss"].get<double>(),
                nlohmann::json::parse(evaluated.out)["loss"].get<double>(), 1e-6);
    EXPECT_THAT(read(path("study/seeds.html")), HasSubstr("Results at the final epoch"));
}

TEST_F(TrainSeeds, WhatIsFinishedIsNotTrainedAgain) {
    ASSERT_EQ(cait(seeds(2)).status, 0);
    const auto first = saved_at("study/seed-0");
    // A third seed, by the study's own recipe; and one that was begun goes on.
    fs::remove(path("study/seed-1/finished.json"));
    const auto before = state("study/seed-1");
    const Finished more = cait({"train", "--resume", path("study"), "--seeds", "3"});
    ASSERT_EQ(more.status, 0) << more.err;
    EXPECT_THAT(more.out, AllOf(Not(HasSubstr("seed 0 (")), HasSubstr("nothing is left to do"),
                                HasSubstr("seed 2 (3 of 3)")));
    EXPECT_EQ(saved_at("study/seed-0"), first);
    EXPECT_EQ(state("study/seed-1"), before);
    EXPECT_EQ(json()["runs"].size(), 3U);
    const Finished again = cait({"train", "--resume", path("study")});
    ASSERT_EQ(again.status, 0) << again.err;
    EXPECT_THAT(again.out, AllOf(HasSubstr("3 seeds at the"), Not(HasSubstr("epoch 1/2"))));

    // The seed of a study is the run that --seed would have made.
    ASSERT_EQ(cait(recipe("alone", {"--epochs", "2", "--seed", "1"})).status, 0);
    EXPECT_EQ(state("alone"), state("study/seed-1"));
}

TEST_F(TrainSeeds, RefusesWhatWouldMixRecipes) {
    ASSERT_EQ(cait(seeds(1)).status, 0);
    expect_refused(cait(seeds(2, {"--set", "optim.weight_decay=0.3"})), 2,
                   {"holds a study by another recipe", "optim.weight_decay 0.05 -> 0.3"});
    expect_refused(cait(recipe("study")), 2, {"holds a study of seeds"});
    expect_refused(cait(recipe("new", {"--test", "folder:x"})), 2, {"--test is for --seeds"});
    expect_refused(cait(recipe("new", {"--seeds", "2", "--test", "folder:" + path("none")})), 1,
                   {"none: cannot open folder"});
    EXPECT_FALSE(fs::exists(path("new")));
    ASSERT_EQ(cait(recipe("one")).status, 0);
    expect_refused(cait(recipe("one", {"--seeds", "2"})), 2, {"already holds a run"});
}

TEST_F(TrainSeeds, SeveralProcessesTrainEachSeed) {
    const Finished run = cait(seeds(2, {"--nproc", "2"}));
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(json()["runs"].size(), 2U);
    EXPECT_EQ(json()["tests"][0]["top1"]["count"], 2);
}

}  // namespace
}  // namespace cait::e2e
