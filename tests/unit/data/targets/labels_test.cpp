#include "data/targets/labels.h"

#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using LabelSets = std::vector<std::vector<std::int64_t>>;

class Sets final : public Dataset {
public:
    explicit Sets(LabelSets sets)
        : Dataset("sets", {{"a", "b", "c"}, false}), sets_(std::move(sets)) {}
    std::size_t size() const noexcept override { return sets_.size(); }
    std::string name(std::size_t i) const override { return "image " + std::to_string(i); }
    void read(std::size_t, const DecodeOptions&, Image&) const override {}
    std::int64_t label(std::size_t i) const override {
        return sets_[i].empty() ? kUnlabelled : sets_[i][0];
    }
    std::vector<std::int64_t> labels(std::size_t i) const override { return sets_[i]; }

private:
    LabelSets sets_;
};

std::vector<float> rows_of(LabelSets labels, const std::vector<MixDraw>& draws = {}) {
    const Sets sets(std::move(labels));
    const TargetPtr target = labels_target(3);
    Targets targets;
    target->prepare(sets.size(), targets);
    const Image image;
    for (std::size_t i = 0; i < sets.size(); ++i) {
        SampleKey key;
        key.sample = i;
        target->write({sets, key, image, Geometry{}, LabelImage{}}, i, targets);
    }
    target->collate(draws, targets);
    const auto values = targets.at(kLabelSets).floats();
    return {values.begin(), values.end()};
}

TEST(LabelsTarget, IsARowOfZerosAndOnes) {
    EXPECT_THAT(rows_of({{0, 2}, {}, {1}}), ElementsAre(1, 0, 1, 0, 0, 0, 0, 1, 0));
}

TEST(LabelsTarget, MixesLinearlyWithTheImageAtTheOtherEnd) {
    EXPECT_THAT(rows_of({{0, 2}, {2}}, {{0.75}, {0.5}}), ElementsAre(0.75F, 0, 1, 0.5F, 0, 1));
}

TEST(LabelsTarget, RefusesALabelOutsideTheClasses) {
    EXPECT_THAT(error_of([] { rows_of({{3}}); }),
                HasSubstr("image 0: expected labels below 3, found 3"));
    EXPECT_THROW(labels_target(0), UsageError);
}

}  // namespace
}  // namespace cait::data_test
