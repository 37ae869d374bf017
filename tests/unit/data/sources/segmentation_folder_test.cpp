#include <fmt/format.h>

#include "data/augment/segmentation_transform.h"
#include "data/loader.h"
#include "data/open_dataset.h"
#include "data/split.h"
#include "data/targets/label_image.h"
#include "unit/data/label_support.h"

namespace cait::data_test {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SegmentationFolder : public ::testing::Test {
protected:
    void add(const std::string& part, const std::string& name, int number, std::uint8_t left,
             std::uint8_t right) {
        put_image(root() / part / "images" / (name + ".png"), number);
        put(root() / part / "labels" / (name + ".png"), png(halves(left, right)));
    }
    fs::path root() const { return folder_.path(); }
    DatasetPtr open(const std::string& below = "", const std::string& options = "",
                    Split split = Split::any) const {
        return open_dataset(fmt::format("segmentation:{}{}{}", root().string(), below, options),
                            split);
    }

private:
    TemporaryFolder folder_;
};

TEST_F(SegmentationFolder, PairsImagesWithLabelImages) {
    add("", "a", 1, 0, 1);
    add("", "deep/b", 2, 2, 255);
    const DatasetPtr data = open();
    ASSERT_EQ(data->size(), 2U);
    EXPECT_TRUE(data->has_label_images());
    EXPECT_THAT(numbers_of(*data), ElementsAre(1, 2));
    EXPECT_THAT(data->classes(), ElementsAre("0", "1", "2"));
    EXPECT_EQ(data->label_image(1).values[0], 2);
    EXPECT_EQ(data->label_image(1).values[5], kIgnored);
    EXPECT_EQ(data->label(0), kUnlabelled);
    EXPECT_TRUE(data->labels(0).empty());
}

TEST_F(SegmentationFolder, ReadsClassesColoursAndTheNumbersToIgnore) {
    add("", "a", 1, 0, 11);
    put(root() / "classes.txt", "sky 1 2 3\nroad 4 5 6\n");
    const DatasetPtr data = open("", "?ignore=11,12");
    EXPECT_THAT(data->classes(), ElementsAre("sky", "road"));
    EXPECT_THAT(data->colours(), ElementsAre(Colour{1, 2, 3}, Colour{4, 5, 6}));
    EXPECT_EQ(data->label_image(0).values[5], kIgnored);
    EXPECT_THAT(error_of([&] { open()->label_image(0); }),
                AllOf(HasSubstr("labels/a.png: pixel (3, 0)"), HasSubstr("found 11")));
    put(root() / "other.txt", "x\ny\nz\n");
    EXPECT_THAT(open("", "?ignore=11&classes=" + (root() / "other.txt").string())->classes(),
                ElementsAre("x", "y", "z"));
}

TEST_F(SegmentationFolder, BeginsAtOneWhereZeroIsNoClass) {
    add("", "a", 1, 1, 3);
    add("", "b", 1, 0, 2);
    const DatasetPtr data = open("", "?reduce_zero=true&ignore=3");
    EXPECT_THAT(data->classes(), ElementsAre("0", "1"));
    EXPECT_EQ(data->label_image(0).values[0], 0);
    EXPECT_EQ(data->label_image(0).values[3], kIgnored);
    EXPECT_EQ(data->label_image(1).values[0], kIgnored);
}

TEST_F(SegmentationFolder, HasPartsAndLists) {
    add("train", "a", 1, 0, 1);
    add("train", "b", 2, 0, 1);
    add("val", "c", 3, 0, 0);
    EXPECT_THAT(numbers_of(*open("", "", Split::train)), ElementsAre(1, 2));
    EXPECT_THAT(numbers_of(*open("", "?split=val")), ElementsAre(3));
    EXPECT_TRUE(has_part("segmentation:" + root().string(), Split::val));
    EXPECT_FALSE(has_part("segmentation:" + (root() / "train").string(), Split::val));
    put(root() / "list.txt", "b\n");
    EXPECT_THAT(numbers_of(*open("/train", "?list=" + (root() / "list.txt").string())),
                ElementsAre(2));
    put(root() / "wrong.txt", "b\nx\n");
    EXPECT_THAT(error_of([&] { open("/train", "?list=" + (root() / "wrong.txt").string()); }),
                HasSubstr("wrong.txt:2: expected the name of an image, found 'x'"));
    EXPECT_THAT(error_of([&] { open("", "?split=test"); }),
                HasSubstr("expected the folders images and labels"));
}

TEST_F(SegmentationFolder, NamesWhatIsMissing) {
    add("", "a", 1, 0, 1);
    put_image(root() / "images/b.png", 2);
    EXPECT_THAT(error_of([&] { open(); }), HasSubstr("labels/b.png"));
    put(root() / "classes.txt", "x\ny\n");
    EXPECT_THAT(error_of([&] { open(); }),
                AllOf(HasSubstr("expected a label image for each of the 2 images, found 1 without "
                                "one"),
                      HasSubstr("labels/b.png")));
}

TEST_F(SegmentationFolder, MapsPixelsByTheNamesOfClasses) {
    add("", "a", 1, 0, 1);
    put(root() / "classes.txt", "sky 1 2 3\nroad 4 5 6\n");
    const DatasetPtr data = with_classes(subset(open(), {0}), {"road", "car", "sky"});
    EXPECT_EQ(data->label_image(0).values[0], 2);
    EXPECT_EQ(data->label_image(0).values[3], 0);
    EXPECT_TRUE(data->colours().empty());  // of the car nothing is known
    EXPECT_THAT(with_classes(open(), {"road", "sky"})->colours(),
                ElementsAre(Colour{4, 5, 6}, Colour{1, 2, 3}));
}

TEST_F(SegmentationFolder, IsHeldOutOfAsAWhole) {
    for (int i = 0; i < 10; ++i) add("", std::to_string(i), i, 0, 1);
    const Holdout parts = hold_out(open(), 0.2, 3);
    EXPECT_EQ(parts.held_out->size(), 2U);
    EXPECT_TRUE(parts.held_out->has_label_images());
}

TEST_F(SegmentationFolder, GoesThroughTheLoaderWithItsLabelImages) {
    for (int i = 0; i < 4; ++i) add("", std::to_string(i), i, 0, 1);
    // Another size than its image: bad as an image that cannot be read.
    put(root() / "labels/2.png", png(Image::blank(5, 4, 1)));
    const DatasetPtr data = open();
    const SegmentationTransform transform(
        {.height = 8, .width = 8, .long_side = 12, .short_side = 4, .ratio = {1, 1}, .flip = 0});
    LoaderOptions options;
    options.height = options.width = 8;
    options.threads = 2;
    options.max_bad = 1;
    options.targets = {label_image_target({8, 8})};
    std::vector<std::string> reasons;
    options.report = [&](const BadImage& bad) { reasons.push_back(bad.reason); };
    SamplerOptions order;
    order.size = order.batch = 4;
    order.shuffle = false;
    Loader loader(data, Sampler(order),
                  LabelledTransform([transform, workspace = SegmentationWorkspace()](
                                        const Image& image, const LabelImage& labels,
                                        const SampleKey& key, std::span<float> out) mutable {
                      return transform.apply(image, labels, key, workspace, out);
                  }),
                  options);
    const Batch* batch = loader.next();
    ASSERT_NE(batch, nullptr);
    ASSERT_EQ(reasons.size(), 1U);
    EXPECT_THAT(reasons[0], HasSubstr("2.png: expected a label image of 6x4 pixels, as the image, "
                                      "found 5x4"));
    const Tensor& labels = batch->targets.at(kLabelImages);
    EXPECT_EQ(labels.shape(), Shape({4, 8, 8}));
    // 6x4 stays 6x4; the rest of 8x8 is padding.
    const auto* values = reinterpret_cast<const std::uint8_t*>(labels.bytes());
    EXPECT_THAT(std::vector<int>(values, values + 8),
                ElementsAre(0, 0, 0, 1, 1, 1, kIgnored, kIgnored));
    EXPECT_THAT(std::vector<int>(values + 32, values + 64), Each(kIgnored));
    EXPECT_EQ(batch->images().floats()[7], 0);
    EXPECT_NE(batch->images().floats()[5], 0);
}

TEST(RealSegmentation, OpensCamvidAndPets) {
    const auto camvid = real_data("camvid"), pets = real_data("pets");
    if (!camvid || !pets) GTEST_SKIP() << "needs camvid and pets in the folder $CAIT_DATA";
    const DatasetPtr streets =
        open_dataset("segmentation:" + camvid->string() + "?ignore=11", Split::val);
    EXPECT_EQ(streets->size(), 51U);
    EXPECT_EQ(streets->classes().size(), 11U);
    EXPECT_EQ(label_image_of(*streets, 7, streets->image(7)).width, 480);
    const DatasetPtr animals =
        open_dataset("segmentation:" + pets->string() + "?labels=trimaps&reduce_zero=true&ignore=3",
                     Split::train);
    EXPECT_EQ(animals->size(), 259U);
    EXPECT_THAT(animals->classes(), ElementsAre("0", "1"));
}

}  // namespace
}  // namespace cait::data_test
