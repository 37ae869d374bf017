#include <fmt/format.h>

#include "data/open_dataset.h"
#include "unit/data/label_support.h"

namespace cait::data_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

// Each pixel is the number of a segment: red + 256 green + 65536 blue.
Image segments_image(int left, int right) {
    Image image = Image::blank(6, 4, 3);
    for (std::int64_t y = 0; y < 4; ++y)
        for (std::int64_t x = 0; x < 6; ++x)
            for (int c = 0; c < 3; ++c)
                image.row(y)[3 * x + c] = std::uint8_t((x < 3 ? left : right) >> (8 * c));
    return image;
}

class CocoPanoptic : public ::testing::Test {
protected:
    static std::string segment(int id, int category) {
        return fmt::format(R"({{"id": {}, "category_id": {}, "iscrowd": 0, "bbox": [1, 2, 3, 4]}})",
                           id, category);
    }
    static std::string annotation(const std::string& file, const std::string& segments) {
        return fmt::format(R"({{"segments_info": [{}], "file_name": "{}", "image_id": 9}})",
                           segments, file);
    }
    static std::string category(int id, const std::string& name, const std::string& colour) {
        return fmt::format(R"({{"supercategory": "x", "id": {}, "name": "{}"{}, "isthing": 1}})",
                           id, name, colour.empty() ? "" : R"(, "color": )" + colour);
    }
    void put_json(const std::string& annotations, const std::string& categories) const {
        put(file(), fmt::format(R"({{"info": {{"year": 2018}},
            "images": [{{"id": 9, "file_name": "other.jpg", "width": 6}}],
            "annotations": [{}], "categories": [{}]}})",
                                annotations, categories));
    }
    void put_mask(const std::string& name, int number, int left, int right) const {
        put_image(folder_ / "photos" / (name + ".jpg"), number);
        put(folder_ / "panoptic_val2017" / (name + ".png"), png(segments_image(left, right)));
    }
    fs::path file() const { return folder_ / "panoptic_val2017.json"; }
    std::string uri(const std::string& more = "") const {
        return fmt::format("coco-panoptic:{}?images={}{}", file().string(),
                           (folder_ / "photos").string(), more);
    }
    std::string error_when_opened() const {
        return error_of([&] { open_dataset(uri()); });
    }

    const std::string categories_ =
        category(1, "person", "[220, 20, 60]") + "," + category(200, "rug", "[250, 141, 255]");
    TemporaryFolder folder_;
};

TEST_F(CocoPanoptic, GivesPixelsTheCategoriesOfTheirSegments) {
    put_json(annotation("b.png", segment(3, 200) + "," + segment(70000, 1)) + "," +
                 annotation("a.png", segment(3, 1) + "," + segment(258, 1)),
             categories_);
    put_mask("b", 2, 3, 70000);
    put_mask("a", 1, 258, 0);
    const DatasetPtr data = open_dataset(uri());
    EXPECT_TRUE(data->has_label_images());
    EXPECT_THAT(numbers_of(*data), ElementsAre(2, 1));  // in the order of the annotations
    EXPECT_THAT(data->classes(), ElementsAre("person", "rug"));
    EXPECT_THAT(data->colours(), ElementsAre(Colour{220, 20, 60}, Colour{250, 141, 255}));
    EXPECT_THAT(halves_of(*data, 0), Pair(1, 0));
    EXPECT_THAT(halves_of(*data, 1), Pair(0, int(kIgnored)));  // 0 is what nobody annotated
    const LabelImage labels = data->label_image(1);
    EXPECT_EQ(labels.width, 6);
    EXPECT_EQ(labels.height, 4);
    EXPECT_THAT(std::vector<int>(labels.values.begin(), labels.values.begin() + 6),
                ElementsAre(0, 0, 0, 255, 255, 255));
}

TEST_F(CocoPanoptic, ReadsMasksFromAnotherFolder) {
    put_json(annotation("a.png", segment(5, 200)), categories_);
    put_image(folder_ / "photos/a.jpg", 1);
    put(folder_ / "elsewhere/a.png", png(segments_image(5, 0)));
    const DatasetPtr data = open_dataset(uri("&masks=" + (folder_ / "elsewhere").string()));
    EXPECT_THAT(halves_of(*data, 0), Pair(1, int(kIgnored)));
    const Failure without = failure_of([&] { open_dataset("coco-panoptic:" + file().string()); });
    EXPECT_EQ(without.kind, ErrorKind::usage);
    EXPECT_THAT(without.message, HasSubstr("expected ?images=FOLDER"));
}

TEST_F(CocoPanoptic, HasColoursOfAllClassesOrNone) {
    put_json(annotation("a.png", segment(5, 200)),
             category(1, "person", "[220, 20, 60]") + "," + category(200, "rug", ""));
    put_mask("a", 1, 5, 5);
    const DatasetPtr data = open_dataset(uri());
    EXPECT_THAT(data->classes(), ElementsAre("person", "rug"));
    EXPECT_THAT(data->colours(), IsEmpty());
}

TEST_F(CocoPanoptic, NamesThePixelOfNoSegment) {
    // 3 is a segment of the other image only.
    put_json(annotation("a.png", segment(5, 200)) + "," + annotation("b.png", segment(3, 1)),
             categories_);
    put_mask("a", 1, 5, 3);
    put_mask("b", 2, 3, 3);
    const DatasetPtr data = open_dataset(uri());
    EXPECT_THAT(
        error_of([&] { data->label_image(0); }),
        HasSubstr("panoptic_val2017/a.png: pixel (3, 0): expected the id of a segment, found 3"));
    EXPECT_THAT(halves_of(*data, 1), Pair(0, 0));
}

TEST_F(CocoPanoptic, NamesTheMaskThatIsMissing) {
    put_json(annotation("a.png", segment(5, 1)) + "," + annotation("b.png", segment(5, 1)),
             categories_);
    put_mask("a", 1, 5, 5);
    EXPECT_THAT(error_when_opened(),
                AllOf(HasSubstr("expected a label image for each of the 2 images, found 1 without "
                                "one"),
                      HasSubstr("panoptic_val2017/b.png")));
}

TEST_F(CocoPanoptic, SaysWhatIsWrongInItsFile) {
    put_mask("a", 1, 5, 5);
    put_json(annotation("a.png", segment(5, 7)), categories_);
    EXPECT_THAT(error_when_opened(), HasSubstr("annotations: 'a.png': expected the id of a "
                                               "category, found 7"));
    put_json(annotation("../a.png", segment(5, 1)), categories_);
    EXPECT_THAT(error_when_opened(), HasSubstr("annotations: expected a file_name below the "
                                               "folder, found '../a.png'"));
    put_json(annotation("a.png", R"({"id": 5})"), categories_);
    EXPECT_THAT(error_when_opened(), HasSubstr("expected segments with id and category_id"));
    put_json(annotation("", segment(5, 1)), categories_);
    EXPECT_THAT(error_when_opened(), HasSubstr("annotations: an entry has no file_name"));
    put_json(annotation("a.png", segment(5, 1)), categories_ + "," + category(2, "rug", ""));
    EXPECT_THAT(error_when_opened(), HasSubstr("categories: 'rug' (id 2) stands there twice"));
    put_json(annotation("a.png", segment(5, 1)), categories_ + "," + category(1, "dog", ""));
    EXPECT_THAT(error_when_opened(), HasSubstr("categories: 'dog' (id 1) stands there twice"));
    put_json(annotation("a.png", segment(5, 1)), categories_ + "," + category(2, "", ""));
    EXPECT_THAT(error_when_opened(), HasSubstr("categories: expected id and name"));
    for (const int value : {256, -1}) {
        put_json(annotation("a.png", segment(5, 1)),
                 categories_ + "," + category(2, "dog", fmt::format("[0, {}, 255]", value)));
        EXPECT_THAT(
            error_when_opened(),
            HasSubstr(fmt::format("categories: 'dog': color: expected 0 to 255, found {}", value)));
    }
    put(file(), R"({"annotations": [)");
    EXPECT_THAT(error_when_opened(), HasSubstr("panoptic_val2017.json: not valid JSON at byte"));
}

}  // namespace
}  // namespace cait::data_test
