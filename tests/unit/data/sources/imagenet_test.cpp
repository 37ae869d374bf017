
#include "data/formats/synset_table.h"
#include "data/open_dataset.h"
#include "support/source_path.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const fs::path kImagenetData = test::source_path(__FILE__).parent_path() / "../data";

std::string val_name(int number) {
    char name[40];
    std::snprintf(name, sizeof name, "ILSVRC2012_val_%08d.JPEG", number);
    return name;
}

TEST(SynsetTable, ReadsTheDevkitsMatlabFile) {
    for (const char* name : {"meta.mat", "meta_plain.mat"}) {
        const auto table = read_synset_table(kImagenetData / name);
        ASSERT_EQ(table.size(), 4U) << name;
        EXPECT_EQ(table[1].id, 2U);
        EXPECT_EQ(table[1].wnid, "n00000001");
        EXPECT_EQ(table[3].id, 1001U);
    }
}

TEST(SynsetTable, ReadsText) {
    const TemporaryFolder folder;
    put(folder / "a.txt", "n02119789 1 kit_fox\n2 n02100735 English setter\n");
    const auto table = read_synset_table(folder / "a.txt");
    ASSERT_EQ(table.size(), 2U);
    EXPECT_EQ(table[0].id, 1U);
    EXPECT_EQ(table[1].wnid, "n02100735");
    put(folder / "b.txt", "n1 1\nkit fox\n");
    EXPECT_THAT(error_of([&] { read_synset_table(folder / "b.txt"); }), HasSubstr("b.txt:2"));
}

// Every truncation and every changed byte is an answer or an Error, never a crash.
TEST(SynsetTable, SurvivesDamage) {
    for (const char* name : {"meta.mat", "meta_plain.mat"}) {
        const std::string good = read_file(kImagenetData / name);
        for (std::size_t size = 0; size < good.size(); size += 7) {
            const std::string cut = good.substr(0, size);
            EXPECT_THROW(parse_meta_mat(std::as_bytes(std::span(cut)), "m"), Error) << size;
        }
        for (std::size_t at = 128; at < good.size(); ++at) {
            std::string changed = good;
            changed[at] = char(changed[at] ^ 0xff);
            try {
                parse_meta_mat(std::as_bytes(std::span(changed)), "m");
            } catch (const Error&) {
            }
        }
    }
}

TEST(ImageNet, ReadsFoldersOfBothParts) {
    const TemporaryFolder folder;
    put_image(folder / "train/n02/a.JPEG", 1);
    put_image(folder / "train/n01/b.JPEG", 2);
    put_image(folder / "val/n02/c.JPEG", 3);
    const std::string uri = "imagenet:" + folder.path().string();
    EXPECT_THAT(numbers_of(*open_dataset(uri)), ElementsAre(2, 1));
    const DatasetPtr val = with_classes(open_dataset(uri, Split::val), {"n01", "n02"});
    EXPECT_THAT(labels_of(*val), ElementsAre(1));
    EXPECT_THAT(error_of([&] { open_dataset(uri + "?split=test"); }), HasSubstr("not public"));
}

TEST(ImageNet, ReadsAFlatValidationFolderWithTheDevkit) {
    const TemporaryFolder folder;
    for (int i = 1; i <= 4; ++i) put_image(folder / "val" / val_name(i), i);
    const std::string uri = "imagenet:" + folder.path().string() + "?split=val";
    EXPECT_THAT(error_of([&] { open_dataset(uri); }),
                HasSubstr("is flat, so ILSVRC2012_validation_ground_truth.txt is needed"));
    const fs::path devkit = folder / "ILSVRC2012_devkit_t12/data";
    put(devkit / "ILSVRC2012_validation_ground_truth.txt", "1\n2\n3\n1\n");
    EXPECT_THAT(error_of([&] { open_dataset(uri); }), HasSubstr("meta.mat"));
    fs::copy_file(kImagenetData / "meta.mat", devkit / "meta.mat");
    const DatasetPtr dataset = open_dataset(uri);
    EXPECT_THAT(dataset->classes(), ElementsAre("n00000001", "n00000002", "n00000003"));
    EXPECT_THAT(labels_of(*dataset), ElementsAre(2, 0, 1, 2));
    EXPECT_THAT(numbers_of(*dataset), ElementsAre(1, 2, 3, 4));

    put(devkit / "ILSVRC2012_validation_ground_truth.txt", "1\n2\n3\n");
    EXPECT_THAT(error_of([&] { open_dataset(uri); }), HasSubstr("has only 3 lines"));
    put(devkit / "ILSVRC2012_validation_ground_truth.txt", "1\n2\n3\n7\n");
    EXPECT_THAT(error_of([&] { open_dataset(uri); }), HasSubstr(":4: class number 7 is not in"));
    put(devkit / "ILSVRC2012_validation_ground_truth.txt", "1\nx\n3\n7\n");
    EXPECT_THAT(error_of([&] { open_dataset(uri); }), HasSubstr(":2: expected a class number"));
}

TEST(ImageNet, RealKeepsAllAnswersAndDropsImagesWithoutAny) {
    const TemporaryFolder folder;
    for (int i = 1; i <= 3; ++i) put_image(folder / "val" / val_name(i), i);
    put(folder / "real.json", "[[5, 999], [], [0]]");
    const std::string uri = "imagenet-real:" + folder.path().string();
    const DatasetPtr dataset = open_dataset(uri);
    EXPECT_THAT(numbers_of(*dataset), ElementsAre(1, 3));
    EXPECT_THAT(dataset->labels(0), ElementsAre(5, 999));
    EXPECT_THAT(dataset->labels(1), ElementsAre(0));
    EXPECT_EQ(dataset->label(0), 5);
    EXPECT_EQ(dataset->classes().size(), 1000U);
    EXPECT_TRUE(dataset->class_list().numbered);
    // Through a model's class list, all answers are mapped.
    std::vector<std::string> known(1000);
    for (std::size_t i = 0; i < 1000; ++i) known[i] = "n" + std::to_string(i);
    EXPECT_THAT(with_classes(dataset, known)->labels(0), ElementsAre(5, 999));

    put(folder / "other.json", "[[5, 1000]]");
    EXPECT_THAT(
        error_of([&] { open_dataset(uri + "?labels=" + (folder / "other.json").string()); }),
        HasSubstr("image 1: expected class numbers below 1000"));
    put(folder / "real.json", "{}");
    EXPECT_THAT(error_of([&] { open_dataset(uri); }), HasSubstr("expected a list of lists"));
    put(folder / "real.json", "[[1]]");
    EXPECT_THAT(error_of([&] { open_dataset(uri); }), HasSubstr("has only 1 entries"));
}

TEST(ImageNet, V2FoldersAreNumbers) {
    const TemporaryFolder folder;
    for (const char* name : {"2", "10", "0"}) put_image(folder / name / "x.jpeg", std::stoi(name));
    const DatasetPtr dataset = open_dataset("imagenet-v2:" + folder.path().string());
    std::vector<std::string> known(1000);
    for (std::size_t i = 0; i < 1000; ++i) known[i] = "n" + std::to_string(i);
    const DatasetPtr mapped = with_classes(dataset, known);
    for (std::size_t i = 0; i < mapped->size(); ++i)
        EXPECT_EQ(mapped->label(i), mapped->image(i).pixels[0]);
    put_image(folder / "cat/x.jpeg");
    EXPECT_THAT(error_of([&] { open_dataset("imagenet-v2:" + folder.path().string()); }),
                HasSubstr("expected folders named 0 to 999, found 'cat'"));
}

}  // namespace
}  // namespace cait::data_test
