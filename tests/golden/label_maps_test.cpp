// Label maps as the public token-labeling code stores and cuts them. data/label_maps.json has the
// numbers, data/label_map.pt one of the maps by torch.save.
#include "train/label_maps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/open_dataset.h"
#include "golden/golden_case.h"
#include "support/temporary_folder.h"
#include "train/torch/convert.h"
#include "unit/data/support.h"
#include "weights/npy.h"

namespace cait {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

const Json& label_maps_file() {
    static const Json kFile = golden::read_json("label_maps.json");
    return kFile;
}

LabelMapSize size() {
    return {label_maps_file()["count"], label_maps_file()["side"], label_maps_file()["side"]};
}
Grid grid() { return {label_maps_file()["grid"], label_maps_file()["grid"]}; }

std::vector<float> map_of(std::size_t image) {
    return label_maps_file()["maps"][image].get<std::vector<float>>();
}

// As LabelMaps::read() writes them, with every place where it belongs.
at::Tensor numbers() {
    std::vector<at::Tensor> rows;
    for (std::size_t i = 0; i < label_maps_file()["views"].size(); ++i) {
        std::vector<float> row = map_of(i);
        for (const Json& value : label_maps_file()["views"][i])
            row.push_back(value.is_boolean() ? float(value.get<bool>()) : value.get<float>());
        for (std::int64_t n = 0; n < grid().count(); ++n) row.push_back(float(n));
        rows.push_back(torch::tensor(row));
    }
    return at::stack(rows);
}

void label_maps_expect_equal(const at::Tensor& found, const Json& expected) {
    const at::Tensor flat = found.flatten().contiguous();
    ASSERT_EQ(std::size_t(flat.numel()), expected.size());
    for (std::int64_t i = 0; i < flat.numel(); ++i)
        EXPECT_NEAR(flat.data_ptr<float>()[i], expected[std::size_t(i)].get<double>(), 2e-6) << i;
}

TEST(GoldenLabelMaps, GiveTheTargetsOfTheOfficialCode) {
    const MapTargets found = map_targets(numbers(), size(), grid(), label_maps_file()["classes"],
                                         label_maps_file()["smoothing"]);
    label_maps_expect_equal(found.tokens, label_maps_file()["tokens"]);
    label_maps_expect_equal(found.images, label_maps_file()["images"]);
}

TEST(GoldenLabelMaps, PlacesMoveWithTheImage) {
    at::Tensor moved = numbers();
    const std::int64_t first = moved.size(1) - grid().count();
    moved.select(1, first).fill_(7);       // what was at 7 is now at 0
    moved.select(1, first + 1).fill_(-1);  // and nothing at 1
    const auto targets = [](const at::Tensor& from) {
        return map_targets(from, size(), grid(), label_maps_file()["classes"], 0).tokens;
    };
    const at::Tensor before = targets(numbers()), after = targets(moved);
    EXPECT_TRUE(at::equal(after.select(1, 0), before.select(1, 7)));
    EXPECT_TRUE(at::allclose(after.select(1, 1), at::full({6, 11}, 1.0 / 11)));
    EXPECT_TRUE(at::equal(after.slice(1, 2), before.slice(1, 2)));
}

class LabelMapFiles : public testing::Test {
protected:
    // Two classes of the eleven have an image, a/0.png and b/0.png.
    LabelMapFiles() {
        std::vector<std::string> names;
        for (int i = 0; i < 11; ++i) names.push_back(std::string(1, char('a' + i)));
        data_test::put_image(folder_.path() / "images/a/0.png");
        data_test::put_image(folder_.path() / "images/b/0.x.png");
        images_ = with_classes(
            open_dataset("folder:" + (folder_.path() / "images").string(), Split::train), names);
        std::filesystem::create_directories(maps() / "a");
        std::filesystem::create_directories(maps() / "b");
        std::filesystem::copy_file(golden::folder() / "label_map.pt", maps() / "a/0.pt");
        write_npy(maps() / "b/0.npy", Tensor::of({2, 5, 6, 6}, map_of(1)));
    }

    std::filesystem::path maps() const { return folder_.path() / "maps"; }

    std::vector<float> read(std::uint64_t sample, const TrainSettings& settings = {}) const {
        const LabelMaps labels(maps(), images_);
        EXPECT_EQ(labels.size(), size());
        std::vector<float> out(std::size_t(label_floats(labels.size(), grid())));
        labels.read(images_->image(sample), {.seed = 1, .sample = sample}, TrainTransform(settings),
                    grid(), out);
        return out;
    }

    std::string refusal() const {
        try {
            read(0);
            read(1);
        } catch (const Error& error) {
            return error.what();
        }
        return "accepted";
    }

    TemporaryFolder folder_;
    DatasetPtr images_;
};

TEST_F(LabelMapFiles, AreReadWithWhatHappenedToTheImage) {
    TrainSettings settings;
    settings.crop = CropKind::squash;
    settings.flip = 1;
    const std::vector<float> first = read(0, settings), second = read(1, settings);
    const std::vector<float> expected = map_of(2);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), first.begin()));
    EXPECT_THAT(std::span(second).first(expected.size()), testing::ElementsAreArray(map_of(1)));
    EXPECT_THAT(std::span(first).subspan(expected.size(), 5), testing::ElementsAre(0, 0, 1, 1, 1));
    for (std::size_t n = 0; n < 16; ++n) EXPECT_EQ(first[expected.size() + 5 + n], float(n));
}

TEST_F(LabelMapFiles, ThatAreMissingOrWrongAreNamed) {
    EXPECT_EQ(refusal(), "accepted");
    const auto replace = [&](const std::vector<float>& values, const Shape& shape) {
        write_npy(maps() / "b/0.npy", Tensor::of(shape, values));
    };
    replace(map_of(1), {2, 5, 4, 9});
    EXPECT_THAT(refusal(), testing::AllOf(HasSubstr("b/0.npy: expected [2, 5, 6, 6]"),
                                          HasSubstr("found [2, 5, 4, 9]")));
    replace(map_of(1), {360});
    EXPECT_THAT(refusal(), HasSubstr("b/0.npy: expected a label map [2, count, height, width]"));
    std::vector<float> beyond = map_of(1);
    beyond.back() = 11;
    replace(beyond, {2, 5, 6, 6});
    EXPECT_THAT(refusal(), HasSubstr("b/0.npy: expected classes from 0 to 10, found 11"));
    std::filesystem::remove(maps() / "b/0.npy");
    EXPECT_THAT(refusal(), testing::AllOf(HasSubstr("b/0.pt: expected the label map of "),
                                          HasSubstr("b/0.x.png")));
}

}  // namespace
}  // namespace cait
