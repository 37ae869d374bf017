
#include "data/open_dataset.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kImages = R"("images": [
    {"id": 7, "file_name": "train_val2018/Aves/1/a.png", "width": 6, "license": [{"id": 3}]},
    {"id": 9, "file_name": "train_val2018/Plantae/0/b.png"}])";
constexpr const char* kAnnotations = R"("annotations": [
    {"id": 1, "image_id": 9, "category_id": 0}, {"id": 2, "image_id": 7, "category_id": 1}])";
constexpr const char* kCategories = R"([
    {"id": 0, "name": "Rosa canina", "kingdom": "Plantae", "phylum": "Tracheophyta",
     "class": "Magnoliopsida", "order": "Rosales", "family": "Rosaceae", "genus": "Rosa"},
    {"id": 1, "name": "Pica pica", "kingdom": "Animalia", "phylum": "Chordata", "class": "Aves",
     "order": "Passeriformes", "family": "Corvidae", "genus": "Pica"}])";

std::string document(const std::string& categories) {
    return std::string("{\"info\": {\"year\": 2018}, ") + kImages + ", " + kAnnotations +
           (categories.empty() ? "" : ", \"categories\": " + categories) + "}";
}

void put_images(const TemporaryFolder& folder) {
    put_image(folder / "train_val2018/Aves/1/a.png", 1);
    put_image(folder / "train_val2018/Plantae/0/b.png", 2);
}

TEST(INaturalist, TakesAnyLevelAsTheLabel) {
    const TemporaryFolder folder;
    put_images(folder);
    put(folder / "train2018.json", document(kCategories));
    const std::string uri = "inaturalist:" + folder.path().string();
    const DatasetPtr species = open_dataset(uri);
    EXPECT_THAT(species->classes(), ElementsAre("Pica pica", "Rosa canina"));
    EXPECT_THAT(labels_of(*species), ElementsAre(0, 1));
    EXPECT_THAT(numbers_of(*species), ElementsAre(1, 2));
    const auto classes = [&](const std::string& level) {
        return open_dataset(uri + "?level=" + level + "&json=train2018.json")->classes();
    };
    EXPECT_THAT(classes("kingdom"), ElementsAre("Animalia", "Plantae"));
    EXPECT_THAT(classes("phylum"), ElementsAre("Chordata", "Tracheophyta"));
    EXPECT_THAT(classes("class"), ElementsAre("Aves", "Magnoliopsida"));
    EXPECT_THAT(classes("order"), ElementsAre("Passeriformes", "Rosales"));
    EXPECT_THAT(classes("family"), ElementsAre("Corvidae", "Rosaceae"));
    EXPECT_THAT(classes("genus"), ElementsAre("Pica", "Rosa"));
    EXPECT_THAT(classes("one"), ElementsAre("∅"));
    EXPECT_THAT(species->levels(),
                ElementsAre("kingdom", "phylum", "class", "order", "family", "genus", "species"));
    EXPECT_THAT(species->level("order").labels, ElementsAre(0, 1));
}

TEST(INaturalist, FindsTheLevelsInAFileOfTheirOwn) {
    const TemporaryFolder folder;
    put_images(folder);
    put(folder / "val2018.json", document(R"([{"id": 0, "name": "0"}, {"id": 1, "name": "1"}])"));
    const std::string uri = "inaturalist:" + folder.path().string() + "?level=genus";
    EXPECT_THAT(error_of([&] { open_dataset(uri, Split::val); }),
                HasSubstr("no genus here nor in categories.json"));
    EXPECT_THAT(open_dataset(uri.substr(0, uri.find('?')), Split::val)->levels(),
                ElementsAre("species"));
    put(folder / "categories.json", kCategories);
    EXPECT_THAT(open_dataset(uri, Split::val)->classes(), ElementsAre("Pica", "Rosa"));
}

TEST(INaturalist, SaysWhatIsWrong) {
    const TemporaryFolder folder;
    const std::string uri = "inaturalist:" + folder.path().string();
    EXPECT_THAT(error_of([&] { open_dataset(uri); }), HasSubstr("expected one train*.json"));
    EXPECT_THAT(error_of([&] { open_dataset(uri + "?level=tribe"); }),
                HasSubstr("expected kingdom, phylum"));
    const auto message = [&](const std::string& text) {
        put(folder / "train2018.json", text);
        return error_of([&] { open_dataset(uri); });
    };
    EXPECT_THAT(message("{\"images\": [}"), HasSubstr("not valid JSON at byte 13"));
    EXPECT_THAT(message("{}"), HasSubstr("holds no images"));
    EXPECT_THAT(message(R"({"images": [{"id": 1}]})"), HasSubstr("has no file_name"));
    EXPECT_THAT(message(R"({"images": [{"id": 1, "file_name": "x.png"}]})"),
                HasSubstr("image 'x.png' has no annotation"));
    EXPECT_THAT(message(std::string(200000, '[')), HasSubstr("not valid JSON"));
}

}  // namespace
}  // namespace cait::data_test
