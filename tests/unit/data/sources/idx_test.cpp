
#include <zlib.h>

#include "data/open_dataset.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string idx(const std::vector<std::uint32_t>& extents, const std::string& values,
                char type = 8) {
    std::string text{0, 0, type, char(extents.size())};
    for (const std::uint32_t extent : extents)
        for (int shift = 24; shift >= 0; shift -= 8) text += char(extent >> shift & 0xff);
    return text + values;
}

void put_gzip(const fs::path& path, const std::string& content) {
    fs::create_directories(path.parent_path());
    gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, content.data(), unsigned(content.size()));
    gzclose(file);
}

const std::string kPixels{0, 1, 2, 3, 4, 5, 10, 11, 12, 13, 14, 15};  // two images of 2 x 3

TEST(Idx, ReadsImagesAndLabels) {
    const TemporaryFolder folder;
    put(folder / "train-images-idx3-ubyte", idx({2, 2, 3}, kPixels));
    put(folder / "train-labels-idx1-ubyte", idx({2}, {2, 0}));
    const DatasetPtr dataset = open_dataset("idx:" + folder.path().string());
    EXPECT_THAT(dataset->classes(), ElementsAre("0", "1", "2"));
    EXPECT_TRUE(dataset->class_list().numbered);
    EXPECT_THAT(labels_of(*dataset), ElementsAre(2, 0));
    const Image grey = dataset->image(1, 1);
    EXPECT_EQ(grey.width, 3);
    EXPECT_EQ(grey.height, 2);
    EXPECT_THAT(grey.pixels, ElementsAre(10, 11, 12, 13, 14, 15));
    const Image colour = dataset->image(1, 3);
    EXPECT_THAT(std::vector<int>(colour.pixels.begin(), colour.pixels.begin() + 4),
                ElementsAre(10, 10, 10, 11));
    EXPECT_THAT(dataset->name(1), HasSubstr("train-images-idx3-ubyte: image 1"));
}

TEST(Idx, ReadsGzippedFilesAndNamesTheClasses) {
    const TemporaryFolder folder;
    put_gzip(folder / "t10k-images-idx3-ubyte.gz", idx({2, 2, 3}, kPixels));
    put_gzip(folder / "t10k-labels-idx1-ubyte.gz", idx({2}, {9, 0}));
    const DatasetPtr dataset = open_dataset("fashion-mnist:" + folder.path().string(), Split::val);
    EXPECT_EQ(dataset->classes().at(9), "Ankle boot");
    EXPECT_THAT(labels_of(*dataset), ElementsAre(9, 0));
    EXPECT_THAT(dataset->image(0, 1).pixels, ElementsAre(0, 1, 2, 3, 4, 5));
    EXPECT_EQ(open_dataset("mnist:" + folder.path().string() + "?split=test")->classes().at(9),
              "9");
    EXPECT_THAT(error_of([&] { open_dataset("mnist:" + folder.path().string()); }),
                HasSubstr("expected train-images-idx3-ubyte or train-images-idx3-ubyte.gz in"));
}

TEST(Idx, ReadsColourAndFilesByName) {
    const TemporaryFolder folder;
    put(folder / "i", idx({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}));
    put(folder / "l", idx({1}, std::string(1, '\0')));
    const std::string uri = "idx:" + (folder / "i").string();
    EXPECT_THAT(open_dataset(uri + "?labels=" + (folder / "l").string())->image(0).pixels,
                ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_THAT(error_of([&] { open_dataset(uri); }), HasSubstr("?labels=FILE"));
}

// Large files stay mapped, and somebody may write into them.
TEST(Idx, LabelsAreThoseThatWereChecked) {
    const TemporaryFolder folder;
    const std::uint32_t count = (1U << 20) + 100;
    std::string values(count, '\3');
    values.back() = '\1';
    put(folder / "i", idx({count, 1, 1}, std::string(count, '\7')));
    put(folder / "l", idx({count}, values));
    const DatasetPtr dataset =
        open_dataset("idx:" + (folder / "i").string() + "?labels=" + (folder / "l").string());
    std::fstream(folder / "l", std::ios::binary | std::ios::in | std::ios::out)
        << idx({count}, std::string(count, '\xff'));
    EXPECT_EQ(dataset->label(0), 3);
    EXPECT_EQ(dataset->label(count - 1), 1);
}

// A sparse file promises them for nothing.
TEST(Idx, ImagesObeyTheLimitOfPixels) {
    const TemporaryFolder folder;
    put(folder / "l", idx({1}, std::string(1, '\0')));
    const auto refused = [&](std::uint32_t height, std::uint32_t width, bool packed) {
        const std::string header = idx({1, height, width}, "");
        if (packed)
            put_gzip(folder / "i", header);
        else
            put(folder / "i", header);
        if (!packed) fs::resize_file(folder / "i", header.size() + std::uintmax_t{height} * width);
        return error_of([&] {
            open_dataset("idx:" + (folder / "i").string() + "?labels=" + (folder / "l").string());
        });
    };
    for (const bool packed : {false, true}) {
        EXPECT_THAT(refused(30000, 30000, packed),
                    HasSubstr("i: expected at most 178956970 pixels, found 30000x30000"));
        EXPECT_THAT(refused(1, 65536, packed), HasSubstr("expected at most 65535 pixels a side"));
    }
    // Who reads may allow less.
    put(folder / "i", idx({1, 300, 200}, std::string(60'000, '\7')));
    const DatasetPtr small =
        open_dataset("idx:" + (folder / "i").string() + "?labels=" + (folder / "l").string());
    DecodeOptions options;
    options.limits.pixels = 50'000;
    Image image;
    EXPECT_THAT(error_of([&] { small->read(0, options, image); }),
                HasSubstr("image 0: expected at most 50000 pixels, found 200x300"));
}

TEST(Idx, RefusesBrokenFiles) {
    const TemporaryFolder folder;
    put(folder / "l", idx({2}, {0, 1}));
    const auto message = [&](const std::string& images, bool packed = false) {
        if (packed)
            put_gzip(folder / "i", images);
        else
            put(folder / "i", images);
        return error_of([&] {
            open_dataset("idx:" + (folder / "i").string() + "?labels=" + (folder / "l").string());
        });
    };
    const std::string good = idx({2, 2, 3}, kPixels);
    EXPECT_THAT(message(""), HasSubstr("not an IDX file"));
    EXPECT_THAT(message("\x89PNG...."), HasSubstr("not an IDX file"));
    EXPECT_THAT(message(idx({2, 2, 3}, kPixels, 13)), HasSubstr("found 0x0d"));
    EXPECT_THAT(message(good.substr(0, 9)), HasSubstr("truncated IDX header"));
    EXPECT_THAT(message(good.substr(0, 20)), HasSubstr("needs 28 bytes, found 20"));
    EXPECT_THAT(message(good + "x"), HasSubstr("needs 28 bytes, found 29"));
    EXPECT_THAT(message(good + "x", true), HasSubstr("needs 28 bytes, found 29 or more"));
    EXPECT_THAT(message(idx({0xffffffff, 0xffffffff, 0xffffffff}, "")), HasSubstr("overflow"));
    EXPECT_THAT(message(idx({4000000000U, 4000, 4000}, ""), true), HasSubstr("found 16"));
    EXPECT_THAT(message(idx({0, 2, 3}, "")), HasSubstr("at least one image"));
    EXPECT_THAT(message(idx({3, 2, 2}, kPixels)), HasSubstr("expected 3 labels, found 2"));
    EXPECT_THAT(message(idx({12}, kPixels)), HasSubstr("expected images × height × width"));

    put_gzip(folder / "packed", good);
    const std::string packed = read_file(folder / "packed");
    EXPECT_THAT(message(packed.substr(0, 25)), HasSubstr("truncated"));
    EXPECT_THAT(message(packed.substr(0, 12) + "broken"), HasSubstr("compressed data"));
}

}  // namespace
}  // namespace cait::data_test
