// Real data sets, where they are: CAIT_DATA names a folder with imagenette-mini (an ImageFolder)
// and cifar-100-half (the binary layout, xz-compressed); Fashion-MNIST is Debian's package.
#include <cstdlib>

#include "data/loader.h"
#include "data/open_dataset.h"
#include "data/statistics.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::HasSubstr;

TEST(RealData, FashionMnistFromDebian) {
    if (!fs::exists("/usr/share/datasets/fashion-mnist"))
        GTEST_SKIP() << "Debian's package dataset-fashion-mnist is not installed";
    const DatasetPtr train = open_dataset("fashion-mnist:", Split::train);
    const DatasetPtr test = open_dataset("fashion-mnist:", Split::val);
    EXPECT_EQ(train->size(), 60000U);
    EXPECT_EQ(test->size(), 10000U);
    const DatasetStatistics result = statistics(*train);
    for (const std::size_t count : result.per_class) EXPECT_EQ(count, 6000U);
    EXPECT_NEAR(result.mean[0], 0.2860, 5e-5);  // the values that everyone normalises with
    EXPECT_NEAR(result.std[0], 0.3530, 5e-5);
    EXPECT_EQ(train->classes().at(std::size_t(train->label(0))), "Ankle boot");
}

TEST(RealData, Imagenette) {
    const auto folder = real_data("imagenette-mini");
    if (!folder) GTEST_SKIP() << "set CAIT_DATA to a folder with imagenette-mini";
    const std::string uri = "folder:" + folder->string();
    const DatasetPtr val = open_dataset(uri, Split::val);
    EXPECT_EQ(open_dataset(uri, Split::train)->size(), 3000U);
    EXPECT_EQ(val->size(), 1000U);
    EXPECT_EQ(val->classes().front(), "n01440764");
    const DatasetStatistics result = statistics(*val);
    EXPECT_TRUE(result.bad.empty());
    EXPECT_EQ(result.width, (SideRange{224, 224, 224}));
    EXPECT_NEAR(result.mean[0], 0.46, 0.03);
}

TEST(RealData, Cifar100) {
    const auto packed = real_data("cifar-100-half");
    if (!packed) GTEST_SKIP() << "set CAIT_DATA to a folder with cifar-100-half";
    EXPECT_THAT(error_of([&] { open_dataset("cifar100:" + packed->string()); }),
                HasSubstr("unpack it first"));
    const TemporaryFolder folder;
    const std::string command = "xz -dc '" + (*packed / "test.bin.xz").string() + "' > '" +
                                (folder / "test.bin").string() + "'";
    if (std::system(command.c_str()) != 0) GTEST_SKIP() << "xz is not installed";
    for (const char* name : {"fine_label_names.txt", "coarse_label_names.txt"})
        fs::copy_file(*packed / name, folder / name);
    const DatasetPtr dataset =
        open_dataset("cifar100:" + folder.path().string() + "?labels=coarse&split=test");
    EXPECT_EQ(dataset->size(), 5000U);
    const DatasetStatistics result = statistics(*dataset);
    for (const std::size_t count : result.per_class) EXPECT_EQ(count, 250U);
    EXPECT_NEAR(result.mean[0], 0.507, 0.01);
    EXPECT_NEAR(result.std[0], 0.267, 0.01);
}

}  // namespace
}  // namespace cait::data_test
