// Names of other runs' weights, and the epoch at which one was as good as another one.
#include "train/sweep/teacher_weights.h"

#include <gmock/gmock.h>

#include <cmath>

#include "cait/error.h"
#include "report/metrics_log.h"
#include "support/temporary_folder.h"
#include "system/atomic_file.h"

namespace cait {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(TeacherWeights, NamesComeBackAsTheyWereWritten) {
    EXPECT_FALSE(parse_teacher_weights("resnet18"));
    for (const char* text : {"@a", "@a/1", "@a/1 like b/2 within 0.02"})
        EXPECT_EQ(parse_teacher_weights(text)->text(), text);
    const auto weights = parse_teacher_weights("@a like b within 0.02");
    EXPECT_EQ(weights->run, "a");
    EXPECT_EQ(weights->like, "b");
    EXPECT_EQ(weights->within, 0.02);
}

TEST(TeacherWeights, WhatIsCutShortIsRefused) {
    for (const char* text : {"@a like b", "@a like b within", "@a like b within x",
                             "@a like b within -1", "@ like b within 1", "@a like  within 1"})
        EXPECT_THROW(parse_teacher_weights(text), Error) << text;
}

std::vector<CurvePoint> curve_with(const std::vector<double>& top1) {
    std::vector<CurvePoint> curve;
    for (const double value : top1) curve.push_back({double(curve.size() + 1), {{"top1", value}}});
    return curve;
}

TEST(TeacherWeights, TheNearestKeptEpochCounts) {
    const auto curve = curve_with({0.1, 0.3, 0.42, 0.39, 0.5, std::nan("")});
    EXPECT_EQ(epoch_of_score(curve, {1, 2, 3, 4, 5, 6}, "top1", 0.4, 0.02), 4U);
    EXPECT_EQ(epoch_of_score(curve, {1, 3, 5}, "top1", 0.4, 0.021), 3U);  // 4 is not kept
    EXPECT_FALSE(epoch_of_score(curve, {1, 2, 5, 6}, "top1", 0.4, 0.02));
    EXPECT_FALSE(epoch_of_score(curve, {}, "top1", 0.4, 1));
    EXPECT_EQ(epoch_of_score(curve_with({0.25, 0.25}), {1, 2}, "top1", 0.25, 0), 1U);
}

class TeacherFile : public testing::Test {
protected:
    TemporaryFolder folder_;
    std::string by_ = "top1";

    void run(const std::string& name, const std::vector<double>& top1, bool keeps) const {
        const auto path = folder_ / name;
        auto log = MetricsLog::start({Folder::make(path), "metrics.jsonl"});
        for (std::size_t i = 0; i < top1.size(); ++i) {
            log.append({"val", std::int64_t(i) + 1, double(i) + 1, {{by_, top1[i]}}});
            if (keeps) touch(path / ("epoch-000" + std::to_string(i + 1) + ".safetensors"));
        }
        touch(path / "last.safetensors");
    }
    static void touch(const std::filesystem::path& path) {
        AtomicFile file(path);
        file.write(" ");
        file.commit();
    }
    std::filesystem::path find(const std::string& value) const {
        return teacher_file(folder_.path(), *parse_teacher_weights(value), by_);
    }
};

TEST_F(TeacherFile, IsTheLastOneOrThatOfTheEpoch) {
    run("a/1", {0.2, 0.41, 0.6}, true);
    run("b/1", {0.1, 0.4}, false);
    EXPECT_EQ(find("@a/1"), folder_ / "a/1/last.safetensors");
    EXPECT_EQ(find("@a/1 like b/1 within 0.02"), folder_ / "a/1/epoch-0002.safetensors");
}

TEST_F(TeacherFile, IsThatOfTheStudysScore) {
    by_ = "miou";
    run("a/1", {0.2, 0.41, 0.6}, true);
    run("b/1", {0.1, 0.4}, false);
    EXPECT_EQ(find("@a/1 like b/1 within 0.02"), folder_ / "a/1/epoch-0002.safetensors");
    by_ = "top1";
    EXPECT_THAT([&] { find("@a/1 like b/1 within 0.02"); },
                ThrowsMessage<Error>(HasSubstr("expected a validation")));
}

TEST_F(TeacherFile, SaysWhatIsMissing) {
    run("a/1", {0.2, 0.6}, true);
    run("b/1", {0.1, 0.4}, false);
    run("c/1", {}, false);
    EXPECT_THAT([&] { find("@d/1"); }, ThrowsMessage<Error>(HasSubstr("train it again")));
    EXPECT_THAT([&] { find("@a/1 like b/1 within 0.02"); },
                ThrowsMessage<Error>(AllOf(HasSubstr("within 0.02 of 0.4000"),
                                           HasSubstr("none of the 2 that are kept"))));
    EXPECT_THAT([&] { find("@b/1 like a/1 within 1"); },
                ThrowsMessage<Error>(HasSubstr("none of the 0 that are kept")));
    EXPECT_THAT([&] { find("@a/1 like c/1 within 1"); },
                ThrowsMessage<Error>(HasSubstr("expected a validation")));
}

}  // namespace
}  // namespace cait
