// Broken and hostile image files given to the real program: one line that names the file, no
// signal, little memory. With them in a data set, the others can still be used.
#include <gmock/gmock.h>

#include <cstring>
#include <set>
#include <sstream>

#include "e2e/command.h"
#include "support/broken_images.h"
#include "support/source_path.h"
#include "unit/data/support.h"

namespace cait::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Broken {
    std::string file;
    std::string content;
    std::string reason;  // part of the message
};

std::string jpeg() {
    const std::vector<std::byte> bytes = encode_jpeg(data_test::numbered_image(1, 200, 150));
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The PNG of one pixel inflates to so many megabytes; making it takes 3 ms for each.
std::vector<Broken> broken_files(int megabytes) {
    const std::string whole = jpeg();
    const std::string progressive = read((test::source_path(__FILE__).parent_path().parent_path() /
                                          "unit/image/data/decode/jpeg_progressive.jpg")
                                             .string());
    return {{"truncated.jpg", whole.substr(0, whole.size() - 100), "truncated"},
            {"inflates.png", test::png(1, 1, test::deflated_zeros(megabytes)), "1x1 pixels"},
            {"huge.jpg", test::jpeg_header(65500, 65500), "found 65500x65500"},
            {"scans.jpg", test::with_more_scans(progressive, 100), "at most 100 scans"},
            {"text.jpg", "this is no image", "expected a JPEG, PNG or WebP image"},
            {"empty.jpg", "", "empty file"}};
}

class DataBroken : public InFolder {
protected:
    void put(const std::string& name, const std::string& content) const {
        data_test::put(folder_ / name, content);
    }
};

TEST_F(DataBroken, PreprocessRefusesEachInOneLine) {
    put("good.jpg", jpeg());
    const auto preprocess = [&](const std::string& file) {
        return cait({"preprocess", "--model", "cait_xxs24_224", path("good.jpg"), path(file),
                     "--output", path("x.npy")});
    };
    for (const Broken& broken : broken_files(1024)) {
        put(broken.file, broken.content);
        const Finished run = preprocess(broken.file);
        expect_refused(run, 1, {path(broken.file), broken.reason});
        if (!kSanitized) {
            EXPECT_LT(run.peak_kilobytes, 200'000) << broken.file;
        }
        EXPECT_FALSE(std::filesystem::exists(path("x.npy"))) << broken.file;
    }
    expect_refused(preprocess("missing.jpg"), 1, {path("missing.jpg")});
    const Finished fine = preprocess("good.jpg");
    EXPECT_EQ(fine.status, 0) << fine.err;
    EXPECT_EQ(std::filesystem::file_size(path("x.npy")), 128 + 2 * 3 * 224 * 224 * sizeof(float));
}

// Unusual but whole: CMYK, 16 bits, grey, alpha and rotated by EXIF give what Pillow's pixels give.
TEST_F(DataBroken, UnusualImagesGiveTheRightTensor) {
    const std::filesystem::path place =
        test::source_path(__FILE__).parent_path().parent_path() / "unit/image/data/decode";
    const std::string pillow = read((place / "pillow.bin").string());
    std::istringstream index(read((place / "index.txt").string()));
    const auto tensor = [&](const std::string& file) {
        const Finished run =
            cait({"preprocess", "--model", "cait_xxs24_224", file, "--output", path("x.npy")});
        EXPECT_EQ(run.status, 0) << run.err;
        return read(path("x.npy"));
    };
    const std::set<std::string> unusual = {"jpeg_cmyk.jpg",  "jpeg_ycck.jpg", "png_grey16.png",
                                           "png_rgba16.png", "jpeg_grey.jpg", "png_grey1.png",
                                           "png_rgba8.png",  "png_la8.png",   "jpeg_exif6.jpg",
                                           "jpeg_exif3.jpg", "png_exif6.png", "webp_exif6.webp"};
    std::size_t seen = 0;
    std::string name, sums;
    std::int64_t width = 0, height = 0, offset = 0;
    while (index >> name >> width >> height >> offset && std::getline(index, sums)) {
        if (!unusual.contains(name)) continue;
        ASSERT_GE(offset, 0);
        Image image = Image::blank(width, height, 3);
        std::memcpy(image.pixels.data(), pillow.data() + offset, image.pixels.size());
        put("reference.png", data_test::png(image));
        EXPECT_TRUE(tensor((place / name).string()) == tensor(path("reference.png"))) << name;
        ++seen;
    }
    EXPECT_EQ(seen, unusual.size());
}

// Bare pixels obey the limits of decoded ones: sparse files and gzip hold them for nothing.
TEST_F(DataBroken, ImagesOfAnIdxFileHaveLimits) {
    const auto idx = [](const std::vector<std::uint32_t>& extents) {
        std::string text{0, 0, 8, char(extents.size())};
        for (const std::uint32_t extent : extents) text += test::big_endian(extent);
        return text;
    };
    const auto verify = [&](const std::string& images) {
        return cait({"data", "verify", "idx:" + path(images) + "?labels=" + path("labels")});
    };
    put("labels", idx({1}) + '\0');
    put("large", idx({1, 30000, 30000}));
    std::filesystem::resize_file(path("large"), 16 + std::uintmax_t{30000} * 30000);
    const Finished large = verify("large");
    expect_refused(large, 1, {path("large"), "at most 178956970 pixels, found 30000x30000"});
    // Within the limit of pixels, beyond the budget: one picture of it takes 432 MB.
    put("wide", idx({1, 12000, 12000}));
    std::filesystem::resize_file(path("wide"), 16 + std::uintmax_t{12000} * 12000);
    const Variable budget("CAIT_MEMORY", "256M");
    const Finished wide = verify("wide");
    EXPECT_EQ(wide.status, 1);
    EXPECT_THAT(wide.out, AllOf(HasSubstr(path("wide") + ": image 0"), HasSubstr("256 MiB")));
    if (!kSanitized) {
        EXPECT_LT(large.peak_kilobytes, 100'000);
        EXPECT_LT(wide.peak_kilobytes, 100'000);
    }
}

TEST_F(DataBroken, VerifyNamesEachAndStatsMeasuresTheOthers) {
    data_test::put_class_folders(folder_ / "set", 2, 10);
    const std::vector<Broken> files = broken_files(64);
    for (const Broken& broken : files) put("set/class1/" + broken.file, broken.content);
    const Finished verify = cait({"data", "verify", "folder:" + path("set")});
    EXPECT_EQ(verify.status, 1);
    EXPECT_EQ(std::ranges::count(verify.out, '\n'), 6) << verify.out;
    for (const Broken& broken : files)
        EXPECT_THAT(verify.out, AllOf(HasSubstr(broken.file), HasSubstr(broken.reason)));
    EXPECT_THAT(verify.err, HasSubstr("6 of 26 images cannot be read"));
    const Finished stats = cait({"data", "stats", "folder:" + path("set")});
    EXPECT_EQ(stats.status, 0) << stats.err;
    EXPECT_THAT(stats.out, HasSubstr("26 images in 2 classes"));
    if (!kSanitized) {
        EXPECT_LT(verify.peak_kilobytes, 200'000);
        EXPECT_LT(stats.peak_kilobytes, 200'000);
    }
}

}  // namespace
}  // namespace cait::e2e
