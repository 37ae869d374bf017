#include "report/seed_study.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "evaluate/scores.h"
#include "report/spread_charts.h"

namespace cait {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Twelve epochs of four runs; what they reach differs by seed, and so does the way there.
SeedStudy study(std::size_t seeds = 4, bool tests = true) {
    SeedStudy study{.title = "<luck>",
                    .validation = "folder:val",
                    .requested = 5,
                    .facts = {{"model", "cait_xxs24_224"}},
                    .notes = {},
                    .runs = {},
                    .recipe = "[train]\n"};
    for (std::size_t s = 0; s < seeds; ++s) {
        SeedRun run{std::int64_t(s), "seed-" + std::to_string(s), {}, {}};
        for (int epoch = 1; epoch <= 12; ++epoch) {
            const double top1 =
                0.8 - std::exp(-epoch / 3.0) / 2 + 0.01 * double(s) + 0.03 * double(s) / epoch;
            run.records.push_back(
                {"val", epoch, double(epoch), {{"top1", top1}, {"top5", 0.9}, {"loss", 1.0}}});
        }
        if (tests)
            run.tests.emplace_back("folder:v2",
                                   EpochScores{12,
                                               {make_score("top1", 0.6 + 0.02 * double(s)),
                                                make_score("top5", 0.8), make_score("loss", 2)}});
        study.runs.push_back(std::move(run));
    }
    return study;
}

std::size_t seed_study_count_of(const std::string& text, std::string_view part) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
    return count;
}

TEST(SeedStudy, ComparesFinalEpochsOnEveryTestSet) {
    const auto results = seed_results(study());
    ASSERT_EQ(results.size(), 2U);
    EXPECT_EQ(results[0].test, "folder:val");
    const double last = 0.8 - std::exp(-4.0) / 2;  // of seed 0
    EXPECT_NEAR(results[0].rows[0].spread.mean, last + 1.5 * (0.01 + 0.03 / 12), 1e-12);
    EXPECT_EQ(results[1].test, "folder:v2");
    EXPECT_NEAR(results[1].rows[0].spread.mean, 0.63, 1e-12);
    EXPECT_NEAR(*results[1].rows[0].spread.deviation, 0.02 * std::sqrt(5.0 / 3), 1e-12);
    EXPECT_NEAR(results[1].rows[0].spread.most, 0.66, 1e-12);
    EXPECT_TRUE(seed_results(study(0)).empty());
}

TEST(SeedStudy, LeavesOutWhatNotAllRunsHave) {
    SeedStudy some = study();
    some.runs[2].tests.clear();
    EXPECT_EQ(seed_results(some).size(), 1U);
    some.runs[1].records.erase(some.runs[1].records.begin() + 4);
    EXPECT_EQ(seed_epochs(some).size(), 11U);
}

TEST(SeedStudy, SaysEverythingAsJson) {
    const nlohmann::ordered_json json = seeds_json(study());
    EXPECT_EQ(json["requested"], 5);
    EXPECT_EQ(json["ddof"], 1);
    EXPECT_EQ(json["tests"][1]["test"], "folder:v2");
    EXPECT_NEAR(json["tests"][1]["top1"]["mean"].get<double>(), 0.63, 1e-12);
    EXPECT_EQ(json["runs"][3]["seed"], 3);
    EXPECT_NEAR(json["runs"][3]["tests"]["folder:v2"]["top1"].get<double>(), 0.66, 1e-12);
    EXPECT_EQ(json["epochs"].size(), 12U);
    EXPECT_TRUE(seeds_json(study(1))["tests"][0]["top1"]["std"].is_null());
}

TEST(SeedStudy, DrawsAPageThatNeedsNothing) {
    const std::string html = seeds_html(study());
    EXPECT_THAT(html, HasSubstr("&lt;luck&gt;"));
    EXPECT_THAT(html, HasSubstr("default-src 'none'"));
    // Two histograms, two bands, a cloud of test sets, three of epochs (6, 10; 11.6 is the last).
    EXPECT_EQ(seed_study_count_of(html, "<figure class=\"chart\">"), 2U + 2U + 1U + 2U);
    EXPECT_EQ(seed_study_count_of(html, "class=\"band\""), 2U);
    EXPECT_THAT(html, HasSubstr("4 of 5 runs"));
    EXPECT_THAT(html, HasSubstr("63.00 %"));
    EXPECT_THAT(html, HasSubstr("± 2.58"));
    for (const std::size_t seeds : {0U, 1U, 2U}) {
        const std::string few = seeds_html(study(seeds, false));
        EXPECT_THAT(few, Not(HasSubstr("nan"))) << seeds;
        EXPECT_THAT(few, Not(HasSubstr("inf "))) << seeds;
    }
}

TEST(SpreadCharts, CountEveryValueInABar) {
    // All equal, at the edge, and spread: bars of in all as many as there are values.
    for (const std::vector<double>& values :
         {std::vector{0.5, 0.5, 0.5}, {0.1, 0.2, 0.9, 1.0}, {0.3}}) {
        const std::string html = histogram_html({"t", "x", ChartUnit::percent, values});
        EXPECT_THAT(html, HasSubstr("<rect class=\"s1\""));
        EXPECT_THAT(html, Not(HasSubstr("nan")));
    }
    // Round values stand on the edges of bins: two bars of two, not one and three.
    const std::string edges =
        histogram_html({"t", "x", ChartUnit::percent, {0.45, 0.4667, 0.5, 0.5, 0.3333, 0.35}});
    const std::size_t first = edges.find("<rect"), last = edges.rfind("<rect");
    const auto height = [&](std::size_t at) { return edges.substr(edges.find("height=", at), 14); };
    EXPECT_EQ(height(last), height(edges.rfind("<rect", last - 1)));
    EXPECT_NE(first, last);
    EXPECT_EQ(histogram_html({"t", "x", ChartUnit::percent, {}}), "");
    EXPECT_EQ(band_chart_html({"t", "x", ChartUnit::percent, {}}), "");
    EXPECT_EQ(scatter_chart_html({"t", "x", ChartUnit::percent, {}, {}}), "");
}

TEST(ChartFrame, NeighbouringTicksHaveDifferentTexts) {
    EXPECT_THAT(tick_texts({0.7965, 0.797, 0.7975}, ChartUnit::percent),
                ElementsAre("79.65 %", "79.70 %", "79.75 %"));
    EXPECT_THAT(tick_texts({0, 0.2, 0.4}, ChartUnit::percent), ElementsAre("0 %", "20 %", "40 %"));
    EXPECT_THAT(tick_texts({0.1, 0.101}, ChartUnit::percent), ElementsAre("10.0 %", "10.1 %"));
}

}  // namespace
}  // namespace cait
