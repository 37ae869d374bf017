// A contrast that stays open though its mean reaches half of the margin gets as many seeds again,
// and is judged at half the level once all of them are there.
#include "train/sweep/extension.h"

#include <gmock/gmock.h>

#include "support/temporary_folder.h"
#include "train/sweep/results.h"

namespace cait {
namespace {

using testing::ElementsAre;

constexpr const char* kStudy = R"(recipe = "small"
seeds = [1, 2, 3]
extend = true
[data]
train = "folder:a"
test = "folder:b"
[[arm]]
name = "good"
[[arm]]
name = "bad"
[[arm]]
name = "other"
seeds = [1, 2]
[[contrast]]
name = "c"
better = "good"
worse = "bad"
margin = 0.1
primary = true
[[contrast]]
name = "secondary"
better = "good"
worse = "other"
margin = 0.1
)";

class SweepExtension : public testing::Test {
protected:
    SweepStudy study_ = parse_study(kStudy, "s.toml");
    TemporaryFolder folder_;
    SweepOptions options() const {
        SweepOptions options;
        options.out = folder_.path();
        return options;
    }
    // Arm good is better than bad by these, from seed 1 on.
    void record(const std::vector<double>& differences) const {
        const RecordStore store(folder_.path(), study_.name, {});
        const auto extensions = planned_extensions({study_}, options());
        for (const SweepRun& run : plan_extended(study_, {}, extensions[0])) {
            if (std::size_t(run.seed) > differences.size()) continue;
            RunRecord record;
            record.started = "2026-11-18T09:42:00Z";
            const double above = differences[std::size_t(run.seed) - 1];
            record.scores["top1"] = 0.5 + (run.arm == "good" ? above : 0);
            store.write(run, record);
        }
    }
    SweepContrastResult contrast(std::size_t i = 0) const {
        return collect_results({study_}, options(), {})[0].contrasts[i];
    }
    std::vector<Extension> planned() const { return planned_extensions({study_}, options())[0]; }
};

TEST_F(SweepExtension, GivesAsManySeedsToTheArmsThatAreCompared) {
    record({0.02, 0.10, 0.06});
    EXPECT_EQ(contrast().verdict, Verdict::open);
    EXPECT_FALSE(contrast().extended);
    const auto extensions = planned();
    ASSERT_EQ(extensions.size(), 1U);
    EXPECT_EQ(extensions[0].contrast, 0U);
    EXPECT_THAT(extensions[0].seeds, ElementsAre(4, 5, 6));
    std::vector<std::string> names;
    for (const SweepRun& run : plan_extended(study_, {}, extensions)) names.push_back(run.name());
    EXPECT_THAT(names,
                ElementsAre("good-1", "bad-1", "other-1", "good-2", "bad-2", "other-2", "good-3",
                            "bad-3", "good-4", "bad-4", "good-5", "bad-5", "good-6", "bad-6"));
    // Those of the plan are the same runs as before.
    EXPECT_EQ(plan_extended(study_, {}, extensions)[0].identity, plan_runs(study_)[0].identity);
}

// SciPy: stats.t.interval(0.975, 5, mean, sem).
TEST_F(SweepExtension, IsJudgedAtHalfTheLevelOnceAllSeedsAreThere) {
    record({0.02, 0.10, 0.06});
    record({0.02, 0.10, 0.06, 0.05, 0.11});
    EXPECT_FALSE(contrast().extended);  // no looks between
    EXPECT_EQ(contrast().differences.size(), 3U);
    record({0.02, 0.10, 0.06, 0.05, 0.11, 0.08});
    const SweepContrastResult found = contrast();
    EXPECT_TRUE(found.extended);
    EXPECT_EQ(found.significance(), 0.025);
    ASSERT_EQ(found.differences.size(), 6U);
    EXPECT_NEAR(*found.interval->low, 0.026779981373968198, 1e-9);
    EXPECT_NEAR(*found.interval->high, 0.11322001862603184, 1e-9);
    EXPECT_NEAR(*found.p, 0.003696306415853437, 1e-9);
    EXPECT_EQ(found.verdict, Verdict::open);     // above 0, but its mean is below the margin
    EXPECT_THAT(planned(), testing::SizeIs(1));  // another start decides the same
    EXPECT_EQ(contrast(1).differences.size(), 2U);
}

TEST_F(SweepExtension, ThresholdsAreThoseOfThePlan) {
    const auto extends = [&](const std::vector<double>& differences) {
        std::filesystem::remove_all(folder_.path() / "records");
        record(differences);
        return !planned().empty();
    };
    EXPECT_FALSE(extends({0.02, 0.06, 0.06}));      // mean below half of the margin
    EXPECT_TRUE(extends({-0.40, 0.10, 0.05}));      // far below 0, and open
    EXPECT_FALSE(extends({0.20, 0.201, 0.199}));    // shown
    EXPECT_FALSE(extends({-0.2, -0.201, -0.199}));  // contradicted
    study_.extend = false;
    EXPECT_FALSE(extends({0.02, 0.10, 0.06}));
}

// p lies between 2.5 and 5 %: shown by as many planned seeds, open after an extension.
TEST_F(SweepExtension, HalfTheLevelIsStricter) {
    std::vector<SweepStudyResult> results(1);
    SweepContrastResult contrast;
    contrast.primary = true;
    contrast.margin = 0.01;
    contrast.differences = {0.02, 0.10, 0.06, 0.03, 0.11, -0.01};
    results[0].contrasts = {contrast, contrast};
    results[0].contrasts[0].primary = results[0].contrasts[1].primary = false;
    results[0].contrasts[1].extended = true;
    judge(results);
    EXPECT_GT(*results[0].contrasts[0].p, 0.025);
    EXPECT_LT(*results[0].contrasts[0].p, 0.05);
    EXPECT_EQ(results[0].contrasts[0].verdict, Verdict::shown);
    EXPECT_EQ(results[0].contrasts[1].verdict, Verdict::open);
}

// Of two that are corrected together: p near 2 %, by Holm twice that.
TEST_F(SweepExtension, HoldsHolmsPToHalfTheLevelToo) {
    std::vector<SweepStudyResult> results(1);
    SweepContrastResult contrast;
    contrast.primary = true;
    contrast.margin = 0.01;
    contrast.differences = {0.02, 0.10, 0.06, 0.04, 0.11, 0.01};
    results[0].contrasts = {contrast, contrast};
    results[0].contrasts[1].extended = true;
    judge(results);
    for (const SweepContrastResult& one : results[0].contrasts) {
        EXPECT_GT(*one.interval->low, 0);
        EXPECT_GT(*one.adjusted, 0.025);
        EXPECT_LT(*one.adjusted, 0.05);
    }
    EXPECT_EQ(results[0].contrasts[0].verdict, Verdict::shown);
    EXPECT_EQ(results[0].contrasts[1].verdict, Verdict::open);
}

}  // namespace
}  // namespace cait
