// Label maps as the public token-labeling code stores and cuts them. data/label_maps.json has the
// numbers, data/label_map.pt one of the maps by torch.save.
#include "train/label_maps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/augment/train_transform.h"
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

// As the target writes them, with every place where it belongs.
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

// A map and a picture that both tell places: tokens and their pixels must agree about them.
TEST(LabelMapCrops, AgreeWithTheImages) {
    constexpr std::int64_t kSide = 64, kPixels = 48;
    constexpr Grid kTokens{4, 4};
    Image image = Image::blank(200, 160, 3);
    for (std::int64_t y = 0; y < image.height; ++y)
        for (std::int64_t x = 0; x < image.width; ++x) {
            image.row(y)[3 * x] = std::uint8_t(255 * (double(x) + 0.5) / 200);
            image.row(y)[3 * x + 1] = std::uint8_t(255 * (double(y) + 0.5) / 160);
        }
    // Class 0 has x as its logit, class 1 y, class 2 nothing.
    std::vector<float> map(std::size_t(4 * kSide * kSide));
    for (std::int64_t cell = 0; cell < kSide * kSide; ++cell) {
        map[std::size_t(cell)] = (float(cell % kSide) + 0.5F) / float(kSide);
        map[std::size_t(kSide * kSide + cell)] = (float(cell / kSide) + 0.5F) / float(kSide);
        map[std::size_t(3 * kSide * kSide + cell)] = 1;
    }
    const LabelMapSize shape{.count = 2, .height = kSide, .width = kSide};
    const TemporaryFolder folder;
    data_test::put_image(folder / "images/a/0.png");
    data_test::put_image(folder / "images/b/0.png");
    std::filesystem::create_directories(folder / "maps/a");
    write_npy(folder / "maps/a/0.npy", Tensor::of({2, 2, kSide, kSide}, map));
    const DatasetPtr images = open_dataset("folder:" + (folder / "images").string());
    const TargetPtr target = label_map_target(std::make_shared<LabelMaps>(folder / "maps", images),
                                              {kTokens.height, kTokens.width});
    TrainSettings settings;
    settings.height = settings.width = kPixels;
    settings.mean.fill(0);
    settings.std.fill(1);
    for (const CropKind kind : {CropKind::random_resized, CropKind::simple, CropKind::squash})
        for (std::uint64_t epoch = 0; epoch < 12; ++epoch) {
            settings.crop = kind;
            const SampleKey key{.seed = 5, .epoch = epoch};
            TrainWorkspace workspace;
            std::vector<float> pixels(3UL * kPixels * kPixels);
            const Geometry geometry = TrainTransform(settings).apply(image, key, workspace, pixels);
            Targets targets;
            target->prepare(1, targets);
            target->write({*images, key, image, geometry, {}}, 0, targets);
            const at::Tensor tokens =
                map_targets(to_torch(targets.at(kLabelMaps)), shape, kTokens, 3, 0).tokens[0];
            const at::Tensor places =
                at::log(tokens.slice(1, 0, 2) / tokens.slice(1, 2, 3));  // [N, 2]: x and y
            const at::Tensor shown = torch::tensor(pixels)
                                         .view({3, 4, kPixels / 4, 4, kPixels / 4})
                                         .mean(std::vector<std::int64_t>{2, 4})
                                         .slice(0, 0, 2)
                                         .reshape({2, 16})
                                         .t();
            // Padding has no labels: there, only tokens away from the border.
            const std::int64_t border = kind == CropKind::simple ? 1 : 0;
            const at::Tensor off = (places - shown)
                                       .view({4, 4, 2})
                                       .slice(0, border, 4 - border)
                                       .slice(1, border, 4 - border);
            EXPECT_LT(off.abs().max().item<double>(), 0.025)
                << crop_kind_name(kind) << " " << epoch;
            EXPECT_GT((places - shown.flip({0})).abs().max().item<double>(), 0.1);
        }
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
        const auto labels = std::make_shared<LabelMaps>(maps(), images_);
        EXPECT_EQ(labels->size(), size());
        const TargetPtr target = label_map_target(labels, {grid().height, grid().width});
        Targets targets;
        target->prepare(1, targets);
        const Image image = images_->image(sample);
        const SampleKey key{.seed = 1, .sample = sample};
        TrainWorkspace workspace;
        TrainTransform(settings).augment(image, key, workspace);
        target->write({*images_, key, image, workspace.geometry, {}}, 0, targets);
        const std::span<const float> row = targets.at(kLabelMaps).floats();
        EXPECT_EQ(std::int64_t(row.size()), label_map_floats(size(), grid().count()));
        return {row.begin(), row.end()};
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
