#include "evaluate/measure.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "evaluate/detection_scores.h"
#include "evaluate/metrics.h"

namespace cait {
namespace {

// Which of its functions a measure calls.
struct Told : MeasureDetails {
    void one_class(const Metrics& metrics) override { add("one_class", metrics); }
    void boxes(const DetectionScores& scores) override { add("boxes", scores); }
    void add(std::string name, const Measure& measure) {
        kinds.push_back(std::move(name));
        from = &measure;
    }
    std::vector<std::string> kinds = {};
    const Measure* from = nullptr;
};

struct KindOfTask {
    const char* task;
    const char* leading;
    std::vector<std::string> kinds;  // of details
};

class MeasureOfTask : public testing::TestWithParam<KindOfTask> {};

TEST_P(MeasureOfTask, TellsTheDetailsOfItsKindAlone) {
    const MeasurePtr measure = make_measure({.name = GetParam().task}, 3);
    Told told;
    measure->tell(told);
    EXPECT_EQ(told.kinds, GetParam().kinds);
    EXPECT_EQ(told.from, told.kinds.empty() ? nullptr : measure.get());
}

TEST_P(MeasureOfTask, IsLedByAScore) {
    EXPECT_EQ(leading_score({.name = GetParam().task}), GetParam().leading);
}

INSTANTIATE_TEST_SUITE_P(Of, MeasureOfTask,
                         testing::Values(KindOfTask{"classify", "top1", {"one_class"}},
                                         KindOfTask{"multi_label", "map", {}},
                                         KindOfTask{"segment", "miou", {}},
                                         KindOfTask{"detect", "box_ap", {"boxes"}}),
                         [](const auto& i) { return std::string(i.param.leading); });

}  // namespace
}  // namespace cait
