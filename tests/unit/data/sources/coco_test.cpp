#include <fmt/format.h>

#include "base/philox.h"
#include "data/object_list.h"
#include "data/open_dataset.h"
#include "data/write_coco.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Coco : public ::testing::Test {
protected:
    static std::string image(int id, const std::string& name, int width, int height) {
        return fmt::format(R"({{"id": {}, "file_name": "{}", "width": {}, "height": {}}})", id,
                           name, width, height);
    }
    // Of image 7, category 5.
    static std::string annotation(int id, const std::string& rest) {
        return fmt::format(R"({{"id": {}, "image_id": 7, "category_id": 5, {}}})", id, rest);
    }
    DatasetPtr open(const std::string& annotations) const {
        return open_with(image(7, "a.png", 6, 4) + "," + image(9, "b.png", 6, 4), annotations);
    }
    DatasetPtr open_with(const std::string& images, const std::string& annotations) const {
        put(folder_ / "all.json",
            "{\"annotations\": [" + annotations + "], \"images\": [" + images +
                R"(], "categories": [{"id": 5, "name": "zebra"}, {"id": 2, "name": "cat"}]})");
        return open_dataset("coco:" + (folder_ / "all.json").string() +
                            "?images=" + (folder_ / "").string());
    }

    TemporaryFolder folder_;
};

TEST_F(Coco, ReadsBoxesPolygonsRunsAndCrowds) {
    const DatasetPtr set =
        open(annotation(1, R"("bbox": [1, 2, 3, 1.5], "area": 4.25, "iscrowd": 0,
                         "segmentation": [[1, 2, 4, 2, 4, 3.5], [0, 0, 1, 0, 1, 1, 0, 1]])") +
             "," +
             R"({"id": 2, "image_id": 7, "category_id": 2, "bbox": [0, 0, 1, 4], "iscrowd": 1,
            "segmentation": {"size": [4, 6], "counts": [0, 4, 20]}},)" +
             annotation(3, R"("bbox": [0, 1, 1, 1], "iscrowd": false,
                         "segmentation": {"size": [4, 6], "counts": "11f0"})"));
    EXPECT_TRUE(set->has_objects() && set->has_object_masks());
    EXPECT_THAT(set->classes(), ElementsAre("zebra", "cat"));
    EXPECT_THAT(set->class_numbers(), ElementsAre(5, 2));
    ASSERT_EQ(set->size(), 2U);
    EXPECT_EQ(set->image_number(0), 7);
    EXPECT_EQ(set->image_number(1), 9);
    const std::vector<Object> found = set->objects(0);
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].label, 0);
    EXPECT_EQ(found[0].box.left, 1);
    EXPECT_EQ(found[0].box.top, 2);
    EXPECT_EQ(found[0].box.right, 4);
    EXPECT_EQ(found[0].box.bottom, 3.5);
    EXPECT_EQ(found[0].area, 4.25);
    EXPECT_FALSE(found[0].crowd);
    EXPECT_THAT(found[0].mask.polygons,
                ElementsAre(ElementsAre(1, 2, 4, 2, 4, 3.5), ElementsAre(0, 0, 1, 0, 1, 1, 0, 1)));
    EXPECT_EQ(found[1].label, 1);
    EXPECT_TRUE(found[1].crowd);
    EXPECT_EQ(found[1].area, 4);  // of its mask
    EXPECT_EQ(found[1].mask.runs, mask_of_counts(std::vector<std::uint32_t>{0, 4, 20}, 6, 4));
    EXPECT_FALSE(found[2].crowd);
    EXPECT_EQ(found[2].mask.runs, mask_of_counts(std::vector<std::uint32_t>{1, 1, 22}, 6, 4));
    EXPECT_THAT(set->objects(1), IsEmpty());
    EXPECT_THAT(set->labels(0), ElementsAre(0, 1));
    EXPECT_THAT(set->labels(1), IsEmpty());
    EXPECT_THAT(set->notes(), IsEmpty());
}

TEST_F(Coco, FindsTheBoxOfAMaskWithoutOne) {
    const DatasetPtr set =
        open(annotation(1, R"("segmentation": [[1, 2, 4, 2.5, 3, 3.5]])") + "," +
             annotation(2, R"("segmentation": {"size": [4, 6], "counts": [5, 2, 17]})"));
    const std::vector<Object> found = set->objects(0);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].box.right, 4);
    EXPECT_EQ(found[0].box.bottom, 3.5);
    EXPECT_EQ(found[0].area, 1.75);  // of the triangle
    EXPECT_EQ(found[1].box.left, 1);
    EXPECT_EQ(found[1].box.top, 1);
    EXPECT_EQ(found[1].box.bottom, 3);
}

TEST_F(Coco, SetsWithoutMasksHaveNone) {
    const DatasetPtr set = open(annotation(1, R"("bbox": [1, 1, 2, 2], "segmentation": [])"));
    EXPECT_TRUE(set->has_objects());
    EXPECT_FALSE(set->has_object_masks());
    EXPECT_EQ(set->objects(0)[0].area, 4);
}

TEST_F(Coco, TellsWhatItLeavesOut) {
    std::string annotations = annotation(1, R"("bbox": [1, 1, 0, 2])");
    annotations += "," + annotation(2, R"("bbox": [1, 1, 2, -2])");
    annotations += "," + annotation(3, R"("bbox": [6, 0, 2, 2])");
    annotations += "," + annotation(4, R"("bbox": [-3, 0, 3, 2])");
    annotations += "," + annotation(5, R"("bbox": [-3, 0, 4, 9])");  // reaches into the image
    annotations +=
        "," + annotation(
                  6, R"("bbox": [0, 0, 2, 2], "segmentation": [[0, 0, 1, 1], [0, 0, 2, 0, 2, 2]])");
    annotations += "," + annotation(7, R"("bbox": [0, 0, 2, 2],
        "segmentation": [[0, 0, 90000, 1, 0, 2]])");
    const DatasetPtr set = open(annotations);
    const std::vector<Object> found = set->objects(0);
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].box.left, -3);  // as it is written
    EXPECT_EQ(found[0].box.bottom, 9);
    EXPECT_EQ(found[1].mask.polygons.size(), 1U);
    EXPECT_TRUE(found[2].mask.empty());
    EXPECT_THAT(set->notes(),
                ElementsAre(HasSubstr("all.json: 2 boxes without an area are left out"),
                            HasSubstr("2 boxes outside of their image are left out"),
                            HasSubstr("1 polygons of fewer than three points are left out"),
                            HasSubstr("1 masks are left out: their outlines are longer"),
                            HasSubstr("2 objects have no mask")));
}

TEST_F(Coco, KeepsTheFirst20000BoxesOfAnImage) {
    std::string annotations;
    for (int i = 0; i < 20'003; ++i)
        annotations += (i > 0 ? "," : "") + annotation(i, R"("bbox": [1, 1, 2, 2])");
    const DatasetPtr set = open(annotations);
    EXPECT_EQ(set->objects(0).size(), 20'000U);
    EXPECT_THAT(set->notes(), ElementsAre(HasSubstr("3 boxes after the first 20000")));
}

TEST_F(Coco, TakesTheSizeOfAnImageFromItsFileWhereTheListDoesNotSay) {
    put_image(folder_ / "a.png");  // 6x4
    const DatasetPtr set = open_with(
        R"({"id": 7, "file_name": "a.png"})",
        annotation(1, R"("bbox": [6, 0, 2, 2])") + "," + annotation(2, R"("bbox": [5, 0, 2, 2])"));
    EXPECT_EQ(set->objects(0).size(), 1U);
    EXPECT_THAT(set->notes(), ElementsAre(HasSubstr("1 boxes outside")));
}

TEST_F(Coco, FindsTheSizeOfAFileByItsHeader) {
    Image noise = Image::blank(700, 300, 3);
    for (std::size_t i = 0; i < noise.pixels.size(); ++i)
        noise.pixels[i] = std::uint8_t(philox(7, 0, i)[0]);
    put(folder_ / "large.png", png(noise));  // larger than what is read first
    ASSERT_GT(fs::file_size(folder_ / "large.png"), 1U << 17);
    const std::vector<std::byte> jpeg = encode_jpeg(noise, 100);
    put(folder_ / "large.jpg", {reinterpret_cast<const char*>(jpeg.data()), jpeg.size()});
    ASSERT_GT(jpeg.size(), 1U << 17);
    put_image(folder_ / "small.png");
    put(folder_ / "none.png", "no image");
    const auto sides = [&](const char* name) {
        const Extent extent = image_extent(folder_ / name);
        return std::pair(extent.width, extent.height);
    };
    EXPECT_EQ(sides("large.png"), std::pair(std::int64_t{700}, std::int64_t{300}));
    EXPECT_EQ(sides("large.jpg"), std::pair(std::int64_t{700}, std::int64_t{300}));
    EXPECT_EQ(sides("small.png"), std::pair(std::int64_t{6}, std::int64_t{4}));
    EXPECT_EQ(sides("none.png"), std::pair(std::int64_t{0}, std::int64_t{0}));
    EXPECT_EQ(sides("missing.png"), std::pair(std::int64_t{0}, std::int64_t{0}));
}

TEST_F(Coco, NamesWhatIsWrong) {
    const auto wrong = [&](const std::string& rest) {
        return error_of([&] { open(annotation(11, rest)); });
    };
    EXPECT_THAT(wrong(R"("bbox": [1, 2, 3])"),
                HasSubstr("all.json: annotations: entry (id 11): expected a bbox of 4 numbers, "
                          "found 3"));
    EXPECT_THAT(wrong(R"("area": 3)"), HasSubstr("expected a bbox, found none"));
    EXPECT_THAT(wrong(R"("bbox": [1, 2, 3, NaN])"), HasSubstr("not valid JSON"));
    EXPECT_THAT(wrong(R"("bbox": [1, 2, 3, 1e999])"), HasSubstr("not valid JSON"));
    EXPECT_THAT(wrong(R"("bbox": [0, 0, 1, 1], "segmentation": [[0, 0, 1, 1, 2, 2, 3]])"),
                HasSubstr("expected polygons of x and y in turn, found 7 numbers"));
    const auto runs = [&](const std::string& size, const std::string& counts) {
        return wrong(R"("bbox": [0, 0, 1, 1], "segmentation": {"size": )" + size +
                     ", \"counts\": " + counts + "}");
    };
    EXPECT_THAT(runs("[6, 4]", "[24]"),
                HasSubstr("expected runs of 6x4 pixels, as its image, found 4x6"));
    EXPECT_THAT(runs("[4]", "[24]"), HasSubstr("expected the size [height, width]"));
    EXPECT_THAT(runs("[4, 0]", "[24]"), HasSubstr("expected the size [height, width]"));
    EXPECT_THAT(runs("[4, 6]", "[25]"), HasSubstr("entry (id 11): mask: expected runs that fill"));
    EXPECT_THAT(runs("[4, 6]", "[-1, 25]"), HasSubstr("expected lengths of runs, found -1"));
    EXPECT_THAT(runs("[4, 6]", "[1.5, 22.5]"), HasSubstr("expected lengths of runs, found 1.5"));
    EXPECT_THAT(runs("[4, 6]", "\"~~\""), HasSubstr("entry (id 11): "));
    EXPECT_THAT(error_of([&] { open_with(image(7, "../a.png", 6, 4), ""); }),
                HasSubstr("expected a file_name below the folder, found '../a.png'"));
    const Failure without =
        failure_of([&] { open_dataset("coco:" + (folder_ / "all.json").string()); });
    EXPECT_EQ(without.kind, ErrorKind::usage);
    EXPECT_THAT(without.message, HasSubstr("expected ?images=FOLDER"));
}

TEST_F(Coco, AnnotationsFollowTheirImageAndTheirClass) {
    const DatasetPtr set =
        open(annotation(1, R"("bbox": [1, 1, 2, 2])") + "," +
             R"({"id": 2, "image_id": 9, "category_id": 2, "bbox": [0, 0, 1, 1]})");
    const DatasetPtr second = subset(set, {1});
    EXPECT_EQ(second->image_number(0), 9);
    EXPECT_EQ(second->objects(0)[0].label, 1);
    const DatasetPtr mapped = with_classes(second, {"cat", "dog", "zebra"});
    EXPECT_TRUE(mapped->has_objects());
    EXPECT_EQ(mapped->objects(0)[0].label, 0);
    EXPECT_THAT(mapped->labels(0), ElementsAre(0));
    EXPECT_THAT(mapped->class_numbers(), ElementsAre(2, 6, 5));
    EXPECT_EQ(mapped->image_number(0), 9);
    EXPECT_THAT(error_of([&] { with_classes(set, {"zebra"}); }), HasSubstr("cat"));
    EXPECT_THAT(error_of([&] {
                    open_dataset("coco:" + (folder_ / "all.json").string() +
                                 "?images=" + (folder_ / "").string() + "&level=one");
                }),
                HasSubstr("level 'one': expected images with one label each, found objects"));
}

TEST_F(Coco, APartIsWrittenAsItWasRead) {
    put_image(folder_ / "deep/a.png");
    put_image(folder_ / "b.png");
    const DatasetPtr set = open_with(image(7, "deep/a.png", 6, 4) + "," + image(9, "b.png", 6, 4),
                                     annotation(1, R"("bbox": [0.25, 1, 2, 2.5], "area": 3.125,
                         "segmentation": [[0.25, 1, 2.25, 1, 2, 3.5]])") +
                                         "," + annotation(2, R"("bbox": [0, 1, 1, 2], "iscrowd": 1,
                         "segmentation": {"size": [4, 6], "counts": [1, 2, 21]})"));
    const fs::path file = folder_ / "part.json";
    const std::vector<std::size_t> both{0, 1};
    const fs::path root = write_coco_dataset(*set, both, file);
    EXPECT_EQ(fs::canonical(root), fs::canonical(folder_ / ""));
    const DatasetPtr again = open_dataset("coco:" + file.string() + "?images=" + root.string());
    EXPECT_EQ(again->classes(), set->classes());
    EXPECT_EQ(again->class_numbers(), set->class_numbers());
    EXPECT_EQ(again->image_number(0), 7);
    EXPECT_EQ(again->image_number(1), 9);
    const std::vector<Object> before = set->objects(0), after = again->objects(0);
    ASSERT_EQ(after.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(after[i].label, before[i].label);
        EXPECT_EQ(after[i].box.right, before[i].box.right);
        EXPECT_EQ(after[i].box.bottom, before[i].box.bottom);
        EXPECT_EQ(after[i].crowd, before[i].crowd);
        EXPECT_EQ(after[i].area, before[i].area);
        EXPECT_EQ(after[i].mask.polygons, before[i].mask.polygons);
        EXPECT_EQ(after[i].mask.runs, before[i].mask.runs);
    }
    EXPECT_THAT(again->objects(1), IsEmpty());
}

TEST_F(Coco, BoxesOfOneSetServeAsLabelsOfAnother) {
    open(
        annotation(1, R"("bbox": [1, 1, 2, 2], "segmentation": {"counts": [24], "size": [4, 6]})"));
    const DatasetPtr labels =
        open_dataset("coco-labels:" + (folder_ / "").string() + "?json=all.json");
    EXPECT_THAT(labels->labels(0), ElementsAre(0));
    EXPECT_FALSE(labels->has_objects());
    EXPECT_THAT(error_of([&] { labels->objects(0); }), HasSubstr("expected the objects"));
}

// Where CAIT_DATA names a folder with them.
TEST(RealObjects, HaveTheNumbersThatTheirAuthorsCount) {
    struct Count {
        const char* set;
        const char* part;
        std::size_t images, objects;
        bool masks;
    };
    if (!real_data("nuclei") && !real_data("bccd"))
        GTEST_SKIP() << "set CAIT_DATA to a folder with nuclei and bccd";
    for (const Count& expected :
         {Count{"nuclei", "train", 200, 6973, true}, Count{"nuclei", "val", 50, 1266, true},
          Count{"bccd", "train", 200, 2720, false}, Count{"bccd", "val", 40, 519, false}}) {
        const auto folder = real_data(expected.set);
        if (!folder) continue;
        const DatasetPtr set =
            open_dataset(fmt::format("coco:{}/{}.json?images={}/{}/images", folder->string(),
                                     expected.part, folder->string(), expected.part));
        EXPECT_EQ(set->size(), expected.images);
        EXPECT_EQ(set->has_object_masks(), expected.masks);
        EXPECT_THAT(set->notes(), IsEmpty());
        std::size_t objects = 0, wrong_areas = 0;
        for (std::size_t i = 0; i < set->size(); ++i)
            for (const Object& object : set->objects(i)) {
                ++objects;
                if (expected.masks)
                    wrong_areas += double(mask_area(object.mask.runs)) == object.area ? 0 : 1;
            }
        EXPECT_EQ(objects, expected.objects) << expected.set << " " << expected.part;
        EXPECT_EQ(wrong_areas, 0U);
    }
}

}  // namespace
}  // namespace cait::data_test
