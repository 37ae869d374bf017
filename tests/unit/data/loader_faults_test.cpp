#include "data/bad_images.h"
#include "data/loader.h"
#include "data/open_dataset.h"
#include "support/broken_images.h"
#include "unit/data/memory_dataset.h"
#include "unit/image/codec/decode_support.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const FloatTransform kNumber = [](const Image& image, const SampleKey&, std::span<float> out) {
    std::ranges::fill(out, float(image.pixels[0]));
    return Geometry{};
};

LoaderOptions loader_faults_small(int threads = 2) {
    LoaderOptions options;
    options.height = options.width = 2;
    options.threads = threads;
    return options;
}

Sampler sampler(std::size_t size, std::size_t batch, bool shuffle = false) {
    SamplerOptions options;
    options.size = size;
    options.batch = batch;
    options.shuffle = shuffle;
    return Sampler(options);
}

TEST(LoaderFaults, ABadImageIsNamedCountedAndReplacedByTheNext) {
    std::vector<std::string> reported;
    for (const int threads : {1, 8}) {
        LoaderOptions options = loader_faults_small(threads);
        options.epochs = 2;
        options.max_bad = 0.2;
        options.report = [&](const BadImage& image) {
            reported.push_back(image.name + "|" + image.reason);
        };
        Loader loader(std::make_shared<MemoryDataset>(20, std::set<std::size_t>{3, 4, 19}, true),
                      sampler(20, 5), kNumber, options);
        std::vector<std::uint64_t> used;
        while (const Batch* batch = loader.next())
            for (std::size_t i = 0; i < batch->size; ++i) {
                used.push_back(batch->keys[i].sample);
                EXPECT_EQ(batch->images().floats()[i * 12], float(batch->keys[i].sample));
                EXPECT_EQ(labels_of(batch->targets)[i], std::int64_t(batch->keys[i].sample % 2));
            }
        // 3 and 4 become 5; the last wraps round to the first.
        EXPECT_THAT(std::vector<std::uint64_t>(used.begin(), used.begin() + 7),
                    ElementsAre(0, 1, 2, 5, 5, 5, 6));
        EXPECT_EQ(used[19], 0U);
        ASSERT_EQ(loader.bad_images().size(), 3U);
        EXPECT_EQ(loader.bad_images()[2].index, 19U);
    }
    // Once per run, in order, the same with one thread and with eight.
    EXPECT_THAT(reported, ElementsAre("image3|image3: truncated", "image4|image4: truncated",
                                      "image19|image19: truncated", "image3|image3: truncated",
                                      "image4|image4: truncated", "image19|image19: truncated"));
}

TEST(LoaderFaults, ASubstituteIsAugmentedDifferently) {
    LoaderOptions options = loader_faults_small();
    options.max_bad = 1;
    Loader loader(std::make_shared<MemoryDataset>(4, std::set<std::size_t>{0}), sampler(4, 4),
                  kNumber, options);
    const Batch* batch = loader.next();
    EXPECT_EQ(batch->keys[0].sample, batch->keys[1].sample);
    EXPECT_NE(batch->keys[0].copy, batch->keys[1].copy);
}

TEST(LoaderFaults, TooManyEndTheRunWithTheList) {
    const auto run = [](const std::set<std::size_t>& bad, double most, int threads) {
        LoaderOptions options = loader_faults_small(threads);
        options.max_bad = most;
        Loader loader(std::make_shared<MemoryDataset>(100, bad, true), sampler(100, 10, true),
                      kNumber, options);
        std::size_t batches = 0;
        try {
            while (loader.next() != nullptr) ++batches;
        } catch (const BadImagesError& error) {
            EXPECT_EQ(error.kind(), ErrorKind::data);
            EXPECT_THROW(loader.next(), BadImagesError);  // and stays so
            return std::to_string(batches) + ": " + error.what();
        }
        return std::string("fine");
    };
    EXPECT_EQ(run({1, 2, 3, 4, 5}, 0.05, 2), "fine");
    const std::string message = run({1, 2, 3, 4, 5, 6}, 0.05, 1);
    EXPECT_THAT(message, HasSubstr("6 of 100 images cannot be read: "));
    EXPECT_THAT(message, HasSubstr("'image4'"));
    EXPECT_THAT(message, HasSubstr("(more than 5 % of an epoch)"));
    EXPECT_EQ(message, run({1, 2, 3, 4, 5, 6}, 0.05, 8));
    EXPECT_EQ(run({1, 2, 3, 4, 5, 6}, 0.06, 2), "fine");
    EXPECT_THAT(run({1}, 0, 2), HasSubstr("1 of 100"));
}

TEST(LoaderFaults, AllBadEndsAtOnce) {
    std::set<std::size_t> all;
    for (std::size_t i = 0; i < 50; ++i) all.insert(i);
    Loader loader(std::make_shared<MemoryDataset>(50, all), sampler(50, 10), kNumber,
                  loader_faults_small());
    EXPECT_THAT(error_of([&] { loader.next(); }), HasSubstr("3 of 50 images cannot be read"));
}

TEST(LoaderFaults, EvaluationRefusesTheFirst) {
    LoaderOptions options = loader_faults_small(8);
    options.on_bad = OnBad::refuse;
    Loader loader(std::make_shared<MemoryDataset>(30, std::set<std::size_t>{12, 14}, true),
                  sampler(30, 5), kNumber, options);
    EXPECT_NE(loader.next(), nullptr);
    EXPECT_NE(loader.next(), nullptr);
    EXPECT_THAT(error_of([&] { loader.next(); }),
                HasSubstr("image12: truncated (evaluation refuses unreadable images)"));
}

// Reads are counted: nothing is read in place of a bad image, and nothing twice.
TEST(LoaderFaults, BadImagesAreLeftOutWhereverTheyAre) {
    constexpr std::size_t kImages = 1205;  // 1,200 bad ones in a row
    std::set<std::size_t> bad;
    for (std::size_t i = 2; i < 1202; ++i) bad.insert(i);
    for (const int threads : {1, 8}) {
        std::atomic<std::size_t> made = 0;
        const FloatTransform counting = [&](const Image& image, const SampleKey&,
                                            std::span<float> out) {
            ++made;
            std::ranges::fill(out, float(image.pixels[0]));
            return Geometry{};
        };
        LoaderOptions options = loader_faults_small(threads);
        options.on_bad = OnBad::leave_out;
        options.max_bad = 1;
        options.targets = {label_target(SoftLabels{.classes = 2, .smoothing = 0})};
        std::vector<std::size_t> reported;
        options.report = [&](const BadImage& image) { reported.push_back(image.index); };
        Loader loader(std::make_shared<MemoryDataset>(kImages, bad, true),
                      Sampler({.size = kImages,
                               .batch = 8,
                               .shuffle = false,
                               .tail = Tail::keep,
                               .stretches = {}}),
                      counting, options);
        std::vector<std::uint64_t> used, sizes;
        while (const Batch* batch = loader.next()) {
            sizes.push_back(batch->size);
            ASSERT_EQ(batch->images().shape()[0], std::int64_t(batch->size));
            ASSERT_EQ(batch->keys.size(), batch->size);
            ASSERT_EQ(batch->targets.at(kLabelRows).shape(), (Shape{std::int64_t(batch->size), 2}));
            for (std::size_t i = 0; i < batch->size; ++i) {
                const std::uint64_t sample = batch->keys[i].sample;
                used.push_back(sample);
                EXPECT_EQ(batch->images().floats()[i * 12], float(std::uint8_t(sample)));
                EXPECT_EQ(labels_of(batch->targets)[i], std::int64_t(sample % 2));
                EXPECT_EQ(batch->targets.at(kLabelRows).floats()[2 * i + 1], float(sample % 2));
            }
        }
        EXPECT_THAT(used, ElementsAre(0, 1, 1202, 1203, 1204));
        EXPECT_THAT(sizes, ElementsAre(2, 3));
        EXPECT_EQ(made, 5U);
        EXPECT_TRUE(std::ranges::equal(reported, bad));
        EXPECT_EQ(loader.next(), nullptr);
    }
}

TEST(LoaderFaults, TooManyLeftOutEndTheRun) {
    LoaderOptions options = loader_faults_small();
    options.on_bad = OnBad::leave_out;
    Loader loader(std::make_shared<MemoryDataset>(20, std::set<std::size_t>{3, 4}), sampler(20, 5),
                  kNumber, options);
    EXPECT_THAT(error_of([&] { loader.next(); }), HasSubstr("2 of 20 images cannot be read"));
}

TEST(LoaderFaults, ExceptionsInWorkersReachTheCaller) {
    const FloatTransform broken = [](const Image& image, const SampleKey&, std::span<float>) {
        if (image.pixels[0] == 17) throw std::logic_error("a bug");
        return Geometry{};
    };
    Loader loader(std::make_shared<MemoryDataset>(40), sampler(40, 10), broken,
                  loader_faults_small());
    EXPECT_NE(loader.next(), nullptr);
    EXPECT_THROW(loader.next(), std::logic_error);
    EXPECT_THROW(loader.next(), std::logic_error);

    LoaderOptions options = loader_faults_small();
    options.mix = [](const Batch& batch) {
        if (batch.position.batch == 1) throw Error("mixup: odd batch");
        return std::vector<MixDraw>();
    };
    Loader mixing(std::make_shared<MemoryDataset>(40), sampler(40, 10), kNumber, options);
    EXPECT_NE(mixing.next(), nullptr);
    EXPECT_THAT(error_of([&] { mixing.next(); }), HasSubstr("mixup: odd batch"));
}

TEST(LoaderFaults, AFailingReportReachesTheCaller) {
    LoaderOptions options = loader_faults_small();
    options.max_bad = 1;
    options.report = [](const BadImage&) { throw Error("disk full"); };
    Loader loader(std::make_shared<MemoryDataset>(10, std::set<std::size_t>{0}), sampler(10, 5),
                  kNumber, options);
    EXPECT_THAT(error_of([&] { loader.next(); }), HasSubstr("disk full"));
}

TEST(LoaderFaults, RealFilesThatAreBroken) {
    const TemporaryFolder folder;
    put_class_folders(folder.path(), 2, 20);
    const std::string whole = read_file(folder / "class0/3.png");
    put(folder / "class0/3.png", whole.substr(0, whole.size() / 2));
    put(folder / "class1/5.png", "text");
    const DatasetPtr dataset = open_dataset("folder:" + folder.path().string());
    LoaderOptions options = loader_faults_small();
    std::vector<std::string> names;
    options.report = [&](const BadImage& image) { names.push_back(image.name); };
    Loader loader(dataset, sampler(40, 8), kNumber, options);
    while (loader.next() != nullptr) {
    }
    EXPECT_THAT(
        names, ElementsAre((folder / "class0/3.png").string(), (folder / "class1/5.png").string()));
    options.max_bad = 0.04;
    Loader strict(dataset, sampler(40, 8), kNumber, options);
    EXPECT_THAT(error_of([&] {
                    while (strict.next() != nullptr) {
                    }
                }),
                HasSubstr("2 of 40 images cannot be read"));
}

// What must not end a training, nor fill the memory: each is skipped and named with its reason.
TEST(LoaderFaults, HostileFilesAreSkippedAndNamed) {
    const TemporaryFolder folder;
    put_class_folders(folder.path(), 2, 60);
    const std::vector<std::byte> bytes = encode_jpeg(numbered_image(1, 200, 150));
    const std::string jpeg(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    put(folder / "class0/a_truncated.jpg", jpeg.substr(0, jpeg.size() - 100));
    put(folder / "class0/b_inflates.png", test::png(1, 1, test::deflated_zeros(64)));
    put(folder / "class0/c_huge.jpg", test::jpeg_header(65500, 65500));
    const std::string progressive = read_file(test::decode_data("jpeg_progressive.jpg"));
    put(folder / "class0/d_scans.jpg", test::with_more_scans(progressive, 100));
    put(folder / "class0/e_text.jpg", "this is no image");
    put(folder / "class0/f_empty.jpg", "");
    const DatasetPtr dataset = open_dataset("folder:" + folder.path().string());
    LoaderOptions options = loader_faults_small();
    std::vector<std::string> reasons;
    options.report = [&](const BadImage& image) { reasons.push_back(image.reason); };
    Loader loader(dataset, sampler(126, 9), kNumber, options);
    std::size_t images = 0;
    while (const Batch* batch = loader.next()) images += batch->size;
    EXPECT_EQ(images, 126U);
    const auto names = [](const std::string& file, const std::string& why) {
        return ::testing::AllOf(HasSubstr(file), HasSubstr(why));
    };
    EXPECT_THAT(reasons, ElementsAre(names("a_truncated.jpg", "truncated"),
                                     names("b_inflates.png", "more than the 1x1 pixels"),
                                     names("c_huge.jpg", "found 65500x65500"),
                                     names("d_scans.jpg", "at most 100 scans"),
                                     names("e_text.jpg", "expected a JPEG"),
                                     names("f_empty.jpg", "an empty file")));

    put(folder / "class1/g_text.png", "7 of 127 are more than 5 %");
    const DatasetPtr worse = open_dataset("folder:" + folder.path().string());
    Loader ending(worse, sampler(127, 127), kNumber, loader_faults_small());
    EXPECT_THAT(
        error_of([&] { ending.next(); }),
        ::testing::AllOf(HasSubstr("7 of 127 images cannot be read"), HasSubstr("a_truncated.jpg"),
                         HasSubstr("g_text.png"), HasSubstr("more than 5 %")));
}

TEST(BadImages, NamesAFewAndCountsTheRest) {
    std::vector<BadImage> images;
    for (std::size_t i = 0; i < 23; ++i) images.push_back({i, "n" + std::to_string(i), "r"});
    const std::string text = describe(images, 30);
    EXPECT_THAT(text, HasSubstr("23 of 30 images cannot be read: 'n0', 'n1'"));
    EXPECT_THAT(text, HasSubstr("'n19' and 3 more"));
}

TEST(BadImages, CountsPerEpoch) {
    BadImages bad(0.2, 10);
    EXPECT_TRUE(bad.add(0, {1, "a", ""}));
    EXPECT_FALSE(bad.add(0, {1, "a", ""}));
    EXPECT_TRUE(bad.add(0, {2, "b", ""}));
    EXPECT_FALSE(bad.add(1, {1, "a", ""}));
    EXPECT_TRUE(bad.add(1, {3, "c", ""}));
    EXPECT_THROW(bad.add(1, {2, "b", ""}), BadImagesError);
    EXPECT_EQ(bad.all().size(), 3U);
}

}  // namespace
}  // namespace cait::data_test
