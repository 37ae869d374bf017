// What a sweep shows of made-up results: numbers by hand in the table, the page, JSON and CSV, runs
// that failed among them.
#include "report/sweep_report.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cait/error.h"

namespace cait {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

SweepRunResult run_of(const std::string& arm, std::int64_t seed, const std::string& depth,
                      double top1) {
    return {.arm = arm,
            .seed = seed,
            .status = "finished",
            .reason = {},
            .settings = {{"model.depth", depth}},
            .scores = {{"top1", top1}},
            .curve = {{1, {{"train_loss", 2.5}}}, {2, {{"train_loss", 1.5 + double(seed)}}}}};
}

// Means 0.2 and 0.4; with two seeds Student's quantile is 12.706, and half of an interval is that
// many times half of the difference.
std::vector<SweepStudyResult> example() {
    SweepStudyResult study;
    study.name = "s";
    study.title = "A <title>";
    study.score = "top1";
    study.planned = 5;
    study.arms = {"a", "b"};
    study.runs = {run_of("a", 1, "2", 0.19), run_of("b", 1, "4", 0.39), run_of("a", 2, "2", 0.21),
                  run_of("b", 2, "4", 0.41)};
    SweepRunResult diverged = run_of("b", 3, "4", 0.1);
    diverged.status = "diverged";
    diverged.reason = "the loss, \"nan\"";
    diverged.curve.clear();
    study.runs.push_back(diverged);
    SweepContrastResult contrast;
    contrast.name = "b above a";
    contrast.better = "b";
    contrast.worse = "a";
    contrast.score = "top1";
    contrast.primary = true;
    contrast.margin = 0.1;
    contrast.seeds = {1, 2};
    contrast.differences = {0.2, 0.2};
    study.contrasts = {contrast};
    std::vector<SweepStudyResult> studies{study};
    judge(studies);
    return studies;
}

TEST(SweepReport, ATableHasTheMeansOfTheRunsWithASetting) {
    const std::string one = cross_table(example(), "model.depth", "top1");
    EXPECT_THAT(one, AllOf(HasSubstr("model.depth  top1"), HasSubstr("20.00 ± 12.71 (2)"),
                           HasSubstr("30.00 ± 43.10 (3)")));  // the one that diverged counts
    for (const char* keys : {"arm × seed", "arm x seed", "arm * seed"}) {
        const std::string two = cross_table(example(), keys, "top1");
        EXPECT_THAT(two, AllOf(HasSubstr("19.00 (1)"), HasSubstr("41.00 (1)"), HasSubstr("–")));
    }
    try {
        cross_table(example(), "model.deph", "top1");
        FAIL();
    } catch (const UsageError& error) {
        EXPECT_THAT(error.what(), HasSubstr("no run sets 'model.deph'; nearest: model.depth"));
    }
}

TEST(SweepReport, RunsThatFailedAreCountedAndListed) {
    const std::string page = sweep_html(example());
    EXPECT_THAT(page, AllOf(HasSubstr("Runs that diverged or failed"), HasSubstr("b-3"),
                            HasSubstr("the loss, &quot;nan&quot;"), HasSubstr("5 of 5 runs")));
    const auto json = sweep_json(example());
    EXPECT_EQ(json["studies"][0]["arms"][1]["failed"], 1);
    EXPECT_EQ(json["studies"][0]["arms"][1]["runs"], 3);
    EXPECT_NEAR(json["studies"][0]["arms"][1]["scores"]["top1"]["mean"], 0.3, 1e-12);
    EXPECT_THAT(sweep_csv(example()),
                HasSubstr("s,b,3,diverged,\"the loss, \"\"nan\"\"\",4,0.1\n"));
    auto clean = example();
    clean[0].runs.pop_back();
    EXPECT_THAT(sweep_html(clean), Not(HasSubstr("Runs that diverged or failed")));
}

TEST(SweepReport, ThePageNeedsNoOtherFileAndHasACurvePerArm) {
    const std::string page = sweep_html(example());
    EXPECT_THAT(page, AllOf(HasSubstr("A &lt;title&gt;"), HasSubstr("a: training loss"),
                            HasSubstr("b: training loss"), HasSubstr("<b>b above a</b>")));
    for (const char* outside : {"src=\"http", "href=\"http", "<link", "@import"})
        EXPECT_THAT(page, Not(HasSubstr(outside)));
}

TEST(SweepReport, ASettingThatArmsShareHasATable) {
    EXPECT_THAT(sweep_html(example()), Not(HasSubstr("By setting")));  // each arm has a depth
    std::vector<SweepStudyResult> studies = example();
    SweepStudyResult& study = studies[0];
    study.arms = {"a", "b", "c", "d"};
    study.runs = {run_of("a", 1, "2", 0.1), run_of("b", 1, "4", 0.2), run_of("c", 1, "2", 0.3),
                  run_of("d", 1, "4", 0.8)};
    const std::string page = sweep_html(studies);
    EXPECT_THAT(page, AllOf(HasSubstr("By setting"), HasSubstr("<th>model.depth</th>")));
    const auto row = [](const char* level, const char* mean) {
        return std::string("<tr><th scope=\"row\">") + level +
               "</th><td class=\"n\">2</td><td class=\"n\">" + mean + "</td></tr>";
    };
    // Half of an interval of two is 12.706 times half of their difference.
    EXPECT_THAT(page, HasSubstr(row("2", "20.00 ± 127.06")));
    EXPECT_THAT(page, HasSubstr(row("4", "50.00 ± 381.19")));
}

TEST(SweepReport, JsonAndCsvHaveEveryRun) {
    const auto json = sweep_json(example());
    ASSERT_EQ(json["runs"].size(), 5U);
    EXPECT_EQ(json["runs"][0]["settings"]["model.depth"], "2");
    EXPECT_EQ(json["studies"][0]["contrasts"][0]["verdict"], "shown");
    EXPECT_EQ(json["studies"][0]["contrasts"][0]["margin"], 0.1);
    const std::string csv = sweep_csv(example());
    EXPECT_THAT(csv,
                testing::StartsWith(
                    "study,arm,seed,status,reason,model.depth,score.top1\ns,a,1,finished,,2,"));
    EXPECT_EQ(std::ranges::count(csv, '\n'), 6);
}

}  // namespace
}  // namespace cait
