// Study files: what they may say, the order of their runs, and one clear error for each thing that
// contradicts itself.
#include "train/sweep/study.h"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>

#include "cait/error.h"
#include "support/source_path.h"
#include "train/sweep/runs.h"

namespace cait {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kHead = R"(recipe = "small"
seeds = [1, 2]
[data]
train = "folder:a"
test = "folder:b"
)";

std::string arms(std::initializer_list<const char*> names) {
    std::string text;
    for (const char* name : names) text += std::string("[[arm]]\nname = \"") + name + "\"\n";
    return text;
}

SweepStudy study_of(const std::string& text) { return parse_study(text, "x.toml"); }

std::vector<std::string> names_of(const std::vector<SweepRun>& runs) {
    std::vector<std::string> names;
    for (const SweepRun& run : runs) names.push_back(run.name());
    return names;
}

std::string study_refusal(const std::string& text) {
    try {
        plan_runs(study_of(text));
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

TEST(StudyFile, AllArmsOfASeedComeBeforeTheNextSeed) {
    const auto runs = plan_runs(study_of(kHead + arms({"a", "b", "c"})));
    EXPECT_THAT(names_of(runs), ElementsAre("a-1", "b-1", "c-1", "a-2", "b-2", "c-2"));
    EXPECT_EQ(runs[0].folder(), "a/1");
    EXPECT_EQ(runs[0].identity.size(), 16U);
}

TEST(StudyFile, GoesByTheScoreThatLeadsWhatItsRecipeLearns) {
    const std::string more = arms({"a", "b"}) +
                             "[[contrast]]\nname = \"c\"\nbetter = \"a\"\nworse = \"b\"\n"
                             "margin = 0.01\n";
    const SweepStudy labels = study_of(kHead + more);
    EXPECT_EQ(labels.score, "top1");
    EXPECT_EQ(labels.contrasts[0].score, "top1");
    std::string pixels = kHead + more;
    pixels.replace(pixels.find("small"), 5, "segment");
    EXPECT_EQ(study_of(pixels).score, "miou");
    EXPECT_EQ(study_of(pixels).contrasts[0].score, "miou");
    EXPECT_EQ(study_of("score = \"aacc\"\n" + pixels).contrasts[0].score, "aacc");
    EXPECT_EQ(study_of(kHead + more + "[settings]\nloss.name = \"multi_label\"\n").score, "map");
}

TEST(StudyFile, RefusesAScoreOfWhichLessIsBetter) {
    EXPECT_THAT(study_refusal("score = \"loss\"\n" + (kHead + arms({"a"}))),
                AllOf(HasSubstr("x.toml:1: score: expected a score of which more is better"),
                      HasSubstr("'loss'")));
    EXPECT_THAT(study_refusal(kHead + arms({"a"}) + "[settings]\nloss.name = \"none\"\n"),
                StartsWith("x.toml:9: loss.name"));
}

TEST(StudyFile, FactorsCrossAndPairsGoTogether) {
    const auto runs = plan_runs(study_of(std::string(kHead) + R"([factors]
model.depth = [2, 4]
optim.lr = { from = 1e-3, to = 4e-3, steps = 3, log = true }
[[together]]
model.residual = ["none", "layerscale", "scalar"]
model.residual_init = ["auto", 1e-4, "auto"]
[[skip]]
model.depth = 4
model.residual = "none"
[[skip]]
seed = 2
optim.lr = [0.001, 0.004]
)"));
    EXPECT_EQ(runs.size(), 15U + 5U);
    EXPECT_EQ(runs[0].arm, "depth=2,lr=0.001,residual=none,residual_init=auto");
    EXPECT_EQ(runs[0].chosen.at("optim.lr"), "0.001");
    EXPECT_EQ(runs[1].chosen.at("model.residual_init"), "0.0001");
    EXPECT_EQ(runs[3].chosen.at("optim.lr"), "0.002");
    for (const SweepRun& run : runs)
        EXPECT_FALSE(run.chosen.at("model.depth") == "4" &&
                     run.chosen.at("model.residual") == "none");
}

TEST(StudyFile, ATeacherGoesBeforeItsStudents) {
    const auto runs = plan_runs(study_of(kHead + std::string(R"([[arm]]
name = "student"
needs = { arm = "teacher", least = 0.5 }
settings.distill.kind = "hard"
settings.distill.teacher = "@teacher"
[[arm]]
name = "teacher"
seeds = [7]
)")));
    ASSERT_THAT(names_of(runs), ElementsAre("teacher-7", "student-1", "student-2"));
    EXPECT_EQ(runs[1].settings.at("distill.teacher"), "@teacher/7");
    EXPECT_THAT(runs[2].after, testing::Each(0U));
    EXPECT_EQ(runs[2].need->second.score, "top1");
}

TEST(StudyFile, ATeacherMayBeAnEarlierEpochAsGoodAsAnotherRun) {
    const std::string text = kHead + std::string(R"([[arm]]
name = "student"
settings.distill.kind = "hard"
settings.distill.teacher = "@long like other within 0.02"
[[arm]]
name = "long"
seeds = [7]
val = "folder:v"
[[arm]]
name = "other"
seeds = [7]
)");
    const auto runs = plan_runs(study_of(text));
    ASSERT_THAT(names_of(runs), ElementsAre("long-7", "other-7", "student-1", "student-2"));
    EXPECT_EQ(runs[2].settings.at("distill.teacher"), "@long/7 like other/7 within 0.02");
    EXPECT_THAT(runs[2].after, ElementsAre(0U, 1U));
    EXPECT_EQ(runs[0].settings.at("data.val"), "folder:v");
    EXPECT_EQ(runs[1].settings.at("data.val"), "none");
    EXPECT_THAT(runs[0].words, testing::Contains(testing::Pair("data.val", "folder:v")));
    const auto refusal = [&](const std::string& before, const std::string& after) {
        std::string changed = text;
        changed.replace(changed.find(before), before.size(), after);
        return study_refusal(changed);
    };
    EXPECT_EQ(refusal("like other", "like nobody"),
              "x.toml: arm student: distill.teacher: no run is called 'nobody'");
    EXPECT_THAT(refusal(" within 0.02", ""),
                StartsWith("x.toml: arm student: distill.teacher: expected '@RUN like RUN within"));
}

TEST(StudyFile, AnIdentityIsThatOfSettingsAndNotOfPlaces) {
    const std::string text = R"(recipe = "small"
seeds = [1]
[define]
D = "one"
[data]
train = "folder:${D}"
test = "folder:${D}/test"
[[arm]]
name = "a"
)";
    const auto identity = [&](const std::string& more,
                              const std::map<std::string, std::string>& given = {}) {
        return plan_runs(parse_study(text + more, "x.toml", given))[0].identity;
    };
    const std::string first = identity("");
    EXPECT_EQ(identity("", {{"D", "elsewhere"}}), first);
    EXPECT_EQ(identity("settings.train.threads = 1\n"), first);
    EXPECT_EQ(identity("settings.optim.lr = 1e-3\n"), first);  // which it is anyway
    EXPECT_NE(identity("settings.optim.lr = 2e-3\n"), first);
    EXPECT_NE(identity("settings.model.depth = 3\n"), first);
    const auto run = plan_runs(parse_study(text, "x.toml", {{"D", "elsewhere"}}))[0];
    EXPECT_THAT(run.words, testing::Contains(testing::Pair("data.train", "folder:elsewhere")));
    EXPECT_EQ(run.settings.at("data.train"), "folder:${D}");
}

TEST(StudyFile, TuningTriesEachArmsGridAndTakesTheBest) {
    const SweepStudy study = study_of(std::string(kHead) + R"([tune]
seed = 100
[[arm]]
name = "a"
tune.optim.lr = [1e-3, 2e-3]
[[arm]]
name = "b"
tune.optim.lr = [0.1, 0.2]
)");
    const auto runs = plan_tuning(study, {});
    EXPECT_THAT(names_of(runs),
                ElementsAre("a~lr=0.001-100", "a~lr=0.002-100", "b~lr=0.1-100", "b~lr=0.2-100"));
    EXPECT_TRUE(runs[0].tuning);
    EXPECT_FALSE(runs[0].settings.contains("data.val"));
    EXPECT_FALSE(tuned(study, {{"a~lr=0.001-100", 0.5}}));
    const auto choices = tuned(study, {{"a~lr=0.001-100", 0.5},
                                       {"a~lr=0.002-100", 0.4},
                                       {"b~lr=0.1-100", std::nan("")},
                                       {"b~lr=0.2-100", 0.1}});
    ASSERT_TRUE(choices);
    EXPECT_EQ(choices->at("a")[0].second, "0.001");
    EXPECT_EQ(choices->at("b")[0].second, "0.2");
    EXPECT_EQ(plan_runs(study, *choices)[1].chosen.at("optim.lr"), "0.2");
}

TEST(StudyFile, HalvingKeepsTheBetterHalf) {
    const SweepStudy study = study_of(std::string(kHead) + R"([settings]
schedule.epochs = 8
[tune]
search = "halving"
keys.optim.lr = [1e-3, 2e-3, 3e-3, 4e-3]
[[arm]]
name = "a"
)");
    std::map<std::string, double> scores;
    const auto first = plan_tuning(study, scores);
    ASSERT_EQ(first.size(), 4U);
    EXPECT_EQ(first[0].epochs, 2);
    for (std::size_t i = 0; i < 4; ++i) scores[first[i].name()] = double(i);
    const auto second = plan_tuning(study, scores);
    ASSERT_EQ(second.size(), 6U);
    EXPECT_EQ(second[4].name(), "a~lr=0.004~2-100");
    EXPECT_EQ(second[4].epochs, 4);
    scores[second[4].name()] = 1;
    scores[second[5].name()] = 2;
    const auto third = plan_tuning(study, scores);
    ASSERT_EQ(third.size(), 7U);
    EXPECT_EQ(third[6].name(), "a~lr=0.003~3-100");
    scores[third[6].name()] = 3;
    EXPECT_EQ(tuned(study, scores)->at("a")[0].second, "0.003");
}

struct Refused {
    const char* text;
    const char* message;
};

TEST(StudyFile, ContradictionsGetOneClearError) {
    const std::string two = kHead + arms({"a", "b"});
    const std::vector<Refused> cases{
        {"[settings]\noptim.lrr = 1\n",
         "x.toml:11: optim.lrr: unknown key; did you mean optim.lr?"},
        {"[settings]\noptim.lr = -1\n", "x.toml:11: optim.lr: expected"},
        {"[settings]\ntrain.seed = 1\n", "x.toml:11: train.seed: expected as `seeds`"},
        {"[factors]\nmodel.depth = []\n",
         "x.toml:11: model.depth: expected a list of at least one"},
        {"[factors]\nmodel.depth = [2, 2]\n", "x.toml:11: model.depth: '2' is there twice"},
        {"[[together]]\nmodel.depth = [2, 3]\nmodel.dim = [8]\n",
         "x.toml:12: model.dim: expected 2 values, as model.depth has them, found 1"},
        {"[[contrast]]\nname = \"c\"\nbetter = \"a\"\nworse = \"bb\"\nmargin = 0.1\n",
         "x.toml:10: contrast c: worse: no arm is called 'bb'; nearest: b"},
        {"[[contrast]]\nname = \"c\"\nbetter = \"a\"\nworse = \"b\"\nmargin = -0.1\n",
         "x.toml:14: margin: expected a number from 0, by which `better` exceeds `worse`, found "
         "'-0.1'"},
        {"[[contrast]]\nname = \"c\"\nbetter = \"a\"\nworse = \"b\"\n",
         "x.toml:10: contrast c: expected a margin"},
        {"[[arm]]\nname = \"a\"\n", "x.toml:10: arm.name: 'a' is there twice"},
        {"[[arm]]\nname = \"a/b\"\n", "x.toml:10: arm.name: expected letters"},
        {"[[arm]]\nname = \"c\"\nseeds = [3, 3]\n", "x.toml:12: seeds: 3 is there twice"},
        {"[[arm]]\nname = \"c\"\nneeds = { arm = \"d\" }\n",
         "x.toml:10: arm c: needs 'd', which is no arm"},
        {"[[arm]]\nname = \"c\"\nsettings.distill.kind = \"hard\"\nsettings.distill.teacher = "
         "\"@d\"\n",
         "x.toml: arm c: distill.teacher: no run is called 'd'"},
        {"[[arm]]\nname = \"c\"\nneeds = { arm = \"d\", least = 1 }\n[[arm]]\nname = \"d\"\nneeds "
         "= "
         "{ arm = \"c\", least = 1 }\n",
         "x.toml: arm c: waits for itself, by way of arm d"},
        {"[[skip]]\nmodel.depth = 99\n", "x.toml: skip 1: matches no run"},
        {"[surprise]\n", "x.toml:10: surprise: unknown key; nearest: "},
    };
    for (const Refused& one : cases)
        EXPECT_THAT(study_refusal(two + one.text), StartsWith(one.message)) << one.text;
    EXPECT_EQ(cases.size(), 17U);
}

// Factors cross everything, so that one arm may not read what another one needs.
TEST(StudyFile, AKeyIsReadBySomeRun) {
    EXPECT_EQ(study_refusal(kHead + std::string("[[together]]\nmodel.residual = [\"none\", "
                                                "\"layerscale\"]\nmodel.residual_init = "
                                                "[\"auto\", \"1\"]\n")),
              "no error");
    EXPECT_EQ(study_refusal(kHead + std::string("[settings]\noptim.momentum = 0.8\n[factors]\n"
                                                "optim.name = [\"adamw\", \"sgd\"]\n")),
              "no error");
    const std::string idle = "[settings]\noptim.momentum = 0.8\n" + arms({"a", "b"});
    EXPECT_THAT(study_refusal(kHead + idle),
                AllOf(StartsWith("x.toml:7: optim.momentum: has no effect in any run"),
                      HasSubstr("optim.name=sgd"), HasSubstr("allow_unused = true")));
    EXPECT_THAT(study_refusal(kHead + arms({"a", "b"}) + "settings.optim.momentum = 0.8\n"),
                StartsWith("x.toml:10: optim.momentum: has no effect in any run"));
    EXPECT_EQ(study_refusal("allow_unused = true\n" + std::string(kHead) + idle), "no error");
}

TEST(StudyFile, OursCanBePlanned) {
    const auto folder = test::source_path(__FILE__).parent_path() / "../../../../recipes/studies";
    std::size_t studies = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
        EXPECT_NO_THROW(plan_runs(read_study(file.path(), {{"H", "x"}}))) << file.path();
        ++studies;
    }
    EXPECT_GE(studies, 9U);
}

TEST(StudyFile, TheHeadIsChecked) {
    const auto refusal = [](const std::string& before, const std::string& after) {
        std::string text = kHead + arms({"a"});
        text.replace(text.find(before), before.size(), after);
        return study_refusal(text);
    };
    EXPECT_EQ(refusal("", ""), "no error");
    EXPECT_THAT(refusal("\"small\"", "\"smal\""),
                AllOf(StartsWith("x.toml: recipe: unknown recipe 'smal'"), HasSubstr("small")));
    EXPECT_EQ(refusal("[1, 2]", "[1, 1]"), "x.toml:2: seeds: 1 is there twice");
    EXPECT_EQ(refusal("[1, 2]", "[]"),
              "x.toml:2: seeds: expected at least one seed, found an array");
    EXPECT_THAT(refusal("folder:a", "folder:${H}"),
                StartsWith("x.toml:4: ${H}: expected a name of [define]"));
    EXPECT_THAT(refusal("[data]", "[define]\nH = \"\"\n[data]\nval = \"${H}\""),
                HasSubstr("${H} has no value: give --define H=VALUE"));
    EXPECT_THAT(refusal("test = \"folder:b\"\n", ""), HasSubstr("data.test: expected a data set"));
}

}  // namespace
}  // namespace cait
