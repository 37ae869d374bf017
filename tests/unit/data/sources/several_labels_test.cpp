// Data sets whose images have any number of classes: lists in a table, links in folders, COCO's
// annotations.
#include "data/open_dataset.h"
#include "data/sources/csv_dataset.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

class SeveralLabels : public ::testing::Test {
protected:
    std::string csv(const std::string& text, const std::string& options) const {
        put(folder_ / "list.csv", text);
        return "csv:" + (folder_ / "list.csv").string() + options;
    }
    std::string coco(const std::string& text) const {
        put(folder_ / "all.json", text);
        return "coco-labels:" + (folder_ / "").string() + "?json=all.json";
    }

    TemporaryFolder folder_;
};

TEST_F(SeveralLabels, ATableListsThem) {
    const std::string text = "path,label\na.png,dog|cat\nb.png,\nc.png,dog|dog\n";
    const DatasetPtr set = open_dataset(csv(text, "?several=true"));
    EXPECT_THAT(set->classes(), ElementsAre("cat", "dog"));
    EXPECT_THAT(set->labels(0), ElementsAre(0, 1));
    EXPECT_THAT(set->labels(1), IsEmpty());
    EXPECT_THAT(set->labels(2), ElementsAre(1));
    EXPECT_EQ(set->label(1), kUnlabelled);
    EXPECT_EQ(set->label_text(0), "cat|dog");
    const DatasetPtr mapped = with_classes(set, {"dog", "cow", "cat"});
    EXPECT_THAT(mapped->labels(0), ElementsAre(2, 0));
    EXPECT_EQ(mapped->label(1), kUnlabelled);

    const std::vector<std::size_t> all{0, 1, 2};
    write_csv_dataset(*set, all, folder_ / "again.csv");
    const DatasetPtr again =
        open_dataset("csv:" + (folder_ / "again.csv").string() + "?several=true");
    EXPECT_THAT(again->labels(0), ElementsAre(0, 1));
}

TEST_F(SeveralLabels, AreNeverGuessed) {
    const DatasetPtr one = open_dataset(csv("path,label\na.png,dog|cat\nb.png,cat\n", ""));
    EXPECT_THAT(one->classes(), ElementsAre("cat", "dog|cat"));
    EXPECT_THAT(error_of([&] { open_dataset(csv("path,label\na.png,\n", "")); }),
                HasSubstr("the label is empty"));
    EXPECT_THAT(error_of([&] { open_dataset(csv("path,label\na.png,x\n", "?several=yes")); }),
                HasSubstr("several: expected true or false, found"));
    for (const char* label : {"a||b", "|a", "a|"})
        EXPECT_THAT(error_of([&] {
                        open_dataset(
                            csv(std::string("path,label\na.png,") + label + "\n", "?several=true"));
                    }),
                    HasSubstr("expected labels between '|'"))
            << label;
    EXPECT_THAT(error_of([&] { open_dataset(csv("path,label\na.png,\n", "?several=true")); }),
                HasSubstr("no image has a label"));
}

TEST_F(SeveralLabels, AFileLinkedFromTwoClassesIsOneImage) {
    for (const char* name : {"cat", "dog"}) fs::create_directories(folder_ / name);
    put(folder_ / "cat/1.png", "x");
    put(folder_ / "dog/2.png", "y");
    fs::create_symlink("../cat/1.png", folder_ / "dog/other.png");
    fs::create_hard_link(folder_ / "dog/2.png", folder_ / "dog/3.png");  // the same class again
    const std::string uri = "folder:" + (folder_ / "").string();
    EXPECT_EQ(open_dataset(uri)->size(), 4U);
    const DatasetPtr set = open_dataset(uri + "?several=true");
    ASSERT_EQ(set->size(), 2U);
    EXPECT_THAT(set->labels(0), ElementsAre(0, 1));
    EXPECT_THAT(set->labels(1), ElementsAre(1));
    EXPECT_THAT(set->name(0), HasSubstr("cat/1.png"));
    fs::create_symlink("nowhere.png", folder_ / "dog/broken.png");
    EXPECT_THAT(error_of([&] { open_dataset(uri + "?several=true"); }),
                HasSubstr("broken.png: link to a file that is missing"));
}

TEST_F(SeveralLabels, CocosAnnotationsAreClasses) {
    const DatasetPtr set = open_dataset(coco(R"({"info": {"id": {"id": 3}},
        "images": [{"id": 7, "file_name": "a.jpg"}, {"id": 9, "file_name": "b.jpg"}],
        "annotations": [{"id": 1, "image_id": 7, "category_id": 5, "bbox": [1, 2, 3, 4]},
                        {"id": 2, "image_id": 7, "category_id": 2,
                         "segmentation": {"counts": [1], "size": [2, 3]}},
                        {"id": 3, "image_id": 7, "category_id": 5}],
        "categories": [{"id": 5, "name": "zebra"}, {"id": 2, "name": "cat"}]})"));
    EXPECT_THAT(set->classes(), ElementsAre("zebra", "cat"));
    EXPECT_THAT(set->labels(0), ElementsAre(0, 1));
    EXPECT_THAT(set->labels(1), IsEmpty());
    EXPECT_EQ(set->name(1), (folder_ / "b.jpg").string());
}

TEST_F(SeveralLabels, CocosMistakesAreNamed) {
    const auto with = [&](const std::string& images, const std::string& annotations,
                          const std::string& categories) {
        return error_of([&] {
            open_dataset(coco("{\"images\": [" + images + "], \"annotations\": [" + annotations +
                              "], \"categories\": [" + categories + "]}"));
        });
    };
    const std::string image = R"({"id": 1, "file_name": "a.jpg"})";
    const std::string category = R"({"id": 1, "name": "cat"})";
    EXPECT_THAT(with(image + "," + image, "", category),
                HasSubstr("all.json: images: id 1 stands there twice"));
    EXPECT_THAT(with(image, "", category + "," + category),
                HasSubstr("categories: id 1 stands there twice"));
    EXPECT_THAT(with(image, "", category + R"(,{"id": 2, "name": "cat"})"),
                HasSubstr("categories: 'cat' stands there twice"));
    EXPECT_THAT(with(image, R"({"image_id": 4, "category_id": 1})", category),
                HasSubstr("expected an id of an image, found 4"));
    EXPECT_THAT(with(image, R"({"image_id": 1, "category_id": 4})", category),
                HasSubstr("expected an id of a category, found 4"));
    EXPECT_THAT(with(image, R"({"image_id": 1})", category), HasSubstr("has no category_id"));
    EXPECT_THAT(with(R"({"id": 1})", "", category), HasSubstr("has no file_name"));
    EXPECT_THAT(with(R"({"id": 1, "file_name": "../a.jpg"})", "", category),
                HasSubstr("expected a file_name below the folder"));
    EXPECT_THAT(with(image, "", ""), HasSubstr("expected categories"));
    EXPECT_THAT(with(image, "]]", category), HasSubstr("not valid JSON"));
    EXPECT_THAT(error_of([&] { open_dataset("coco-labels:" + (folder_ / "").string()); }),
                HasSubstr("expected ?json=FILE"));
}

}  // namespace
}  // namespace cait::data_test
