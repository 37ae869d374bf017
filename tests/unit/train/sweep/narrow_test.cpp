// Which runs of further seeds follow from the map that one seed has drawn.
#include "train/sweep/narrow.h"

#include <gmock/gmock.h>

#include <cmath>

#include "cait/error.h"
#include "models/settings.h"

namespace cait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kMapStudy = R"(recipe = "small"
seeds = [1, 2]
chance = 0.01
[data]
train = "folder:a"
test = "folder:b"
[factors]
model.depth = [2, 4]
optim.lr = [1e-3, 2e-3, 4e-3, 8e-3, 1.6e-2, 3.2e-2]
[narrow]
key = "optim.lr"
)";

const std::string kBoundary = R"([[contrast]]
name = "stable"
kind = "largest_stable"
key = "optim.lr"
ratio = 2
better = { "model.depth" = 4 }
worse = { "model.depth" = 2 }
)";

// Records by seed and rate, the same for both depths.
struct MapRecords {
    std::map<std::pair<std::int64_t, double>, RunRecord> records;

    void add(std::int64_t seed, double rate, double top1, bool stable) {
        records[{seed, rate}].scores = {{"top1", top1}, {"stable", stable ? 1.0 : 0.0}};
    }
    // Best at 4e-3, stable up to 1.6e-2.
    void add_map() {
        const double top1[] = {0.2, 0.3, 0.5, 0.4, 0.1, 0};
        double rate = 1e-3;
        for (int i = 0; i < 5; ++i, rate *= 2) add(1, rate, top1[i], true);
        records[{1, 3.2e-2}].status = RunStatus::diverged;
    }
    // The rates of seed 2 at depth 2.
    std::vector<std::string> rates(const SweepStudy& study) const {
        std::vector<std::string> result;
        const auto find = [&](const SweepRun& run) -> std::optional<RunRecord> {
            const auto found = records.find({run.seed, parse_number(run.chosen.at("optim.lr"))});
            return found == records.end() ? std::nullopt : std::optional(found->second);
        };
        for (const SweepRun& run : narrowed(study, plan_runs(study), find))
            if (run.seed == 2 && run.chosen.at("model.depth") == "2")
                result.push_back(run.chosen.at("optim.lr"));
        return result;
    }
};

TEST(Narrow, OtherSeedsWaitForTheWholeMap) {
    const SweepStudy study = parse_study(kMapStudy, "x.toml");
    MapRecords map;
    map.add_map();
    map.records.erase({1, 3.2e-2});
    EXPECT_THAT(map.rates(study), IsEmpty());
    const auto runs = narrowed(study, plan_runs(study),
                               [](const SweepRun&) { return std::optional<RunRecord>(); });
    EXPECT_EQ(runs.size(), 12U);
    for (const SweepRun& run : runs) EXPECT_EQ(run.seed, 1);
}

TEST(Narrow, TheBestValueAndItsNeighboursFollow) {
    MapRecords map;
    map.add_map();
    EXPECT_THAT(map.rates(parse_study(kMapStudy, "x.toml")),
                ElementsAre("0.002", "0.004", "0.008"));
}

TEST(Narrow, AnEndOfTheMapHasOneNeighbour) {
    MapRecords map;
    map.add_map();
    map.add(1, 1e-3, 0.9, true);
    EXPECT_THAT(map.rates(parse_study(kMapStudy, "x.toml")), ElementsAre("0.001", "0.002"));
}

TEST(Narrow, LargestStableValuesAreFollowedToTheirBoundary) {
    const SweepStudy study = parse_study(kMapStudy + kBoundary, "x.toml");
    MapRecords map;
    map.add_map();
    map.add(1, 1.6e-2, 0.1, false);  // stable up to 8e-3
    EXPECT_THAT(map.rates(study), ElementsAre("0.002", "0.004", "0.008", "0.016"));
    map.add(2, 1.6e-2, 0.1, false);
    EXPECT_THAT(map.rates(study), ElementsAre("0.002", "0.004", "0.008", "0.016"));
    map.add(2, 1.6e-2, 0.1, true);  // this seed is stable beyond the map's value
    EXPECT_THAT(map.rates(study), ElementsAre("0.002", "0.004", "0.008", "0.016", "0.032"));
}

TEST(Narrow, ASeedThatIsStableNowhereGoesDown) {
    const SweepStudy study = parse_study(kMapStudy + kBoundary, "x.toml");
    MapRecords map;
    map.add_map();
    map.add(1, 1.6e-2, 0.1, false);
    for (const double rate : {2e-3, 4e-3, 8e-3, 1.6e-2}) map.add(2, rate, 0.1, false);
    EXPECT_THAT(map.rates(study), ElementsAre("0.001", "0.002", "0.004", "0.008", "0.016"));
}

TEST(Narrow, TheStudySaysWhichKeyAndSeed) {
    const auto refusal = [](const std::string& before, const std::string& after) {
        std::string text = kMapStudy;
        text.replace(text.find(before), before.size(), after);
        try {
            parse_study(text, "x.toml");
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_THAT(
        refusal("key = \"optim.lr\"", "key = \"optim.beta1\""),
        HasSubstr("x.toml:10: narrow.key: expected a key of [factors], found 'optim.beta1'"));
    EXPECT_THAT(refusal("key = \"optim.lr\"", "key = \"optim.lr\"\nseed = 3"),
                HasSubstr("narrow.seed: expected one of the seeds, found '3'"));
    EXPECT_EQ(parse_study(kMapStudy, "x.toml").narrow->seed, 1);
}

}  // namespace
}  // namespace cait
