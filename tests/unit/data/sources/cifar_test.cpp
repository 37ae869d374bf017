
#include "data/open_dataset.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Planes of constant value, apart from the first pixel of the second row.
std::string record(std::string labels, int red, int green, int blue) {
    std::string pixels = std::string(1024, char(red)) + std::string(1024, char(green)) +
                         std::string(1024, char(blue));
    pixels[32] = char(99);
    return std::move(labels) + pixels;
}

void put_cifar10(const fs::path& folder) {
    std::string names;
    for (int i = 0; i < 10; ++i) names += "name" + std::to_string(i) + "\n";
    put(folder / "batches.meta.txt", names + "\n");
    for (int i = 1; i <= 5; ++i)
        put(folder / ("data_batch_" + std::to_string(i) + ".bin"),
            record(std::string(1, char(i)), i, 20, 30) +
                record(std::string(1, char(9)), 50 + i, 0, 0));
    put(folder / "test_batch.bin", record(std::string(1, char(3)), 200, 100, 50));
}

TEST(Cifar, ReadsTheFiveBatchesInOrder) {
    const TemporaryFolder folder;
    put_cifar10(folder / "cifar-10-batches-bin");
    const DatasetPtr dataset = open_dataset("cifar10:" + folder.path().string());
    EXPECT_EQ(dataset->size(), 10U);
    EXPECT_THAT(numbers_of(*dataset), ElementsAre(1, 51, 2, 52, 3, 53, 4, 54, 5, 55));
    EXPECT_THAT(labels_of(*dataset), ElementsAre(1, 9, 2, 9, 3, 9, 4, 9, 5, 9));
    EXPECT_EQ(dataset->classes()[9], "name9");
    EXPECT_THAT(dataset->name(3), HasSubstr("data_batch_2.bin: record 1"));
    const Image image = dataset->image(0);
    EXPECT_EQ(image.width, 32);
    EXPECT_EQ(image.height, 32);
    EXPECT_THAT(std::vector<int>(image.row(1), image.row(1) + 6),
                ElementsAre(99, 20, 30, 1, 20, 30));
    EXPECT_EQ(dataset->encoded(0), std::nullopt);
}

// Large files stay mapped, and somebody may write into them.
TEST(Cifar, LabelsAreThoseThatWereChecked) {
    const TemporaryFolder folder;
    put_cifar10(folder.path());
    std::string records, other;
    for (int i = 0; i < 400; ++i) {
        records += record(std::string(1, char(i % 10)), 200, 100, 50);
        other += record(std::string(1, '\xff'), 200, 100, 50);
    }
    ASSERT_GT(records.size(), std::size_t{1} << 20);
    put(folder / "test_batch.bin", records);
    const DatasetPtr dataset = open_dataset("cifar10:" + folder.path().string(), Split::test);
    std::fstream(folder / "test_batch.bin", std::ios::binary | std::ios::in | std::ios::out)
        << other;
    for (int i = 0; i < 400; ++i) ASSERT_EQ(dataset->label(std::size_t(i)), i % 10);
}

TEST(Cifar, ReadsTheTestPartAndGrey) {
    const TemporaryFolder folder;
    put_cifar10(folder.path());
    for (const Split split : {Split::val, Split::test}) {
        const DatasetPtr dataset = open_dataset("cifar10:" + folder.path().string(), split);
        EXPECT_EQ(dataset->size(), 1U);
        EXPECT_EQ(dataset->label(0), 3);
        const Image grey = dataset->image(0, 1);
        EXPECT_EQ(grey.channels, 1);
        EXPECT_EQ(grey.pixels[0], 124);  // 0.299 * 200 + 0.587 * 100 + 0.114 * 50
    }
}

TEST(Cifar, ChoosesFineOrCoarseLabels) {
    const TemporaryFolder folder;
    put(folder / "train.bin", record({char(1), char(2)}, 7, 0, 0));
    put(folder / "fine_label_names.txt", "f0\nf1\nf2\n");
    put(folder / "coarse_label_names.txt", "c0\nc1\n");
    const std::string uri = "cifar100:" + folder.path().string();
    EXPECT_EQ(open_dataset(uri)->label(0), 2);
    EXPECT_EQ(open_dataset(uri)->classes().size(), 3U);
    EXPECT_EQ(open_dataset(uri + "?labels=coarse")->label(0), 1);
    EXPECT_EQ(open_dataset(uri + "?labels=coarse&split=train")->classes().size(), 2U);
    const DatasetPtr fine = open_dataset(uri);
    EXPECT_THAT(fine->levels(), ElementsAre("coarse", "fine"));
    EXPECT_THAT(fine->level("coarse").labels, ElementsAre(1));
    EXPECT_THAT(fine->level("coarse").classes.names, ElementsAre("c0", "c1"));
    EXPECT_EQ(open_dataset(uri + "?level=coarse")->label(0), 1);
    fs::remove(folder / "coarse_label_names.txt");
    EXPECT_THAT(open_dataset(uri)->levels(), ElementsAre());
}

TEST(Cifar, SaysWhatIsWrong) {
    const TemporaryFolder folder;
    const std::string uri = "cifar100:" + folder.path().string();
    EXPECT_THAT(error_of([&] { open_dataset(uri); }), HasSubstr("expected train.bin in"));
    put(folder / "train.bin.xz", "x");
    EXPECT_THAT(error_of([&] { open_dataset(uri); }), HasSubstr("unpack it first (xz -dk "));
    put(folder / "train.bin", record({char(0), char(2)}, 7, 0, 0));
    EXPECT_THAT(error_of([&] { open_dataset(uri); }), HasSubstr("fine_label_names.txt"));
    put(folder / "fine_label_names.txt", "f0\nf1\n");
    EXPECT_THAT(error_of([&] { open_dataset(uri); }),
                HasSubstr("train.bin: record 0: label 2: expected less than 2"));
    put(folder / "train.bin", record({char(0), char(1)}, 7, 0, 0) + "x");
    EXPECT_THAT(error_of([&] { open_dataset(uri); }), HasSubstr("expected records of 3074 bytes"));
    put(folder / "train.bin", "");
    EXPECT_THAT(error_of([&] { open_dataset(uri); }), HasSubstr("found 0 bytes"));
}

}  // namespace
}  // namespace cait::data_test
