// The loader on JPEG files with everything that a recipe has: the bytes of a batch depend on
// nothing but seed and position, and many epochs take no more memory than a few.
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "data/augment/mixup.h"
#include "data/augment/train_transform.h"
#include "data/loader.h"
#include "data/open_dataset.h"
#include "unit/data/support.h"

namespace cait::data_test {
namespace {

// The sanitizers hold freed memory back, and are slow: there the images are only walked through.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
constexpr int kImages = 8;
#else
constexpr bool kSanitized = false;
constexpr int kImages = 100;
#endif

constexpr std::uint64_t kEpochs = 20;

double resident_megabytes() {
    std::ifstream statm("/proc/self/statm");
    double all = 0;
    double resident = 0;
    statm >> all >> resident;
    return resident * double(::sysconf(_SC_PAGESIZE)) / 1e6;
}

// Waves and grain; upright and lying in turn.
Image photo(int number) {
    const bool upright = number % 3 == 0;
    Image image = Image::blank(upright ? 375 : 500, upright ? 500 : 375, 3);
    RandomStream random(std::uint64_t(number), "photo");
    const double wave = 0.01 + 0.002 * number;
    for (std::int64_t y = 0; y < image.height; ++y)
        for (std::int64_t x = 0; x < image.width; ++x)
            for (int c = 0; c < 3; ++c) {
                const double shade = std::sin(wave * double(x + c * y)) * 90 + 128;
                image.row(y)[3 * x + c] = std::uint8_t(shade + double(random.uniform()) * 30);
            }
    return image;
}

void put_photos(const fs::path& folder, int count) {
    for (int i = 0; i < count; ++i) {
        const fs::path path = folder / ("class" + std::to_string(i % 4)) / std::to_string(i);
        fs::create_directories(path.parent_path());
        write_image(path.string() + ".jpg", photo(i));
    }
    put(folder / "class0/broken.jpg", "no image");
}

FloatTransform train_transform() {
    TrainSettings settings;
    settings.policy = parse_policy("rand-m9-mstd0.5-inc1");
    settings.erasing.probability = 0.25;
    return [transform = TrainTransform(settings), workspace = TrainWorkspace()](
               const Image& image, const SampleKey& key, std::span<float> out) mutable {
        return transform.apply(image, key, workspace, out);
    };
}

std::vector<MixDraw> mix(const Batch& batch) {
    const Shape shape = batch.storage.shape();
    RandomStream random(batch.position.epoch, batch.position.batch);
    return draw_mix(Mixup{}, std::int64_t(batch.size), shape[2], shape[3], random);
}

struct Bytes {
    std::vector<float> images;
    std::vector<float> targets;
    std::vector<std::int64_t> labels;
    bool operator==(const Bytes&) const = default;
};

// Two epochs of 17 photos, one of them broken, in batches of 4 with mixup.
std::vector<Bytes> batches_of(const DatasetPtr& dataset, int threads, Position start) {
    SamplerOptions order;
    order.size = dataset->size();
    order.batch = 4;
    order.seed = 5;
    LoaderOptions options;
    options.threads = threads;
    options.start = start;
    options.epochs = 2;
    options.max_bad = 0.2;
    options.mix = mix;
    options.targets = {label_target(SoftLabels{.classes = 4})};
    Loader loader(dataset, Sampler(order), train_transform(), options);
    std::vector<Bytes> all;
    while (const Batch* batch = loader.next()) {
        const Tensor images = batch->images();
        const std::span<const float> rows = batch->targets.at(kLabelRows).floats();
        const std::span<const std::int64_t> labels = labels_of(batch->targets);
        all.push_back({{images.floats().begin(), images.floats().end()},
                       {rows.begin(), rows.end()},
                       {labels.begin(), labels.end()}});
    }
    return all;
}

TEST(LoaderPhotos, OneThreadOrEightOrResumedGiveTheSameBytes) {
    const TemporaryFolder folder;
    put_photos(folder.path(), 16);
    const DatasetPtr dataset = open_dataset("folder:" + folder.path().string());
    const std::vector<Bytes> one = batches_of(dataset, 1, {});
    ASSERT_EQ(one.size(), 8U);
    EXPECT_FALSE(one[0] == one[4]);  // the other epoch
    EXPECT_TRUE(batches_of(dataset, 8, {}) == one);
    for (const std::size_t stop : {1U, 3U, 4U, 7U}) {
        const auto rest = batches_of(dataset, 3, {stop / 4, stop % 4});
        EXPECT_TRUE(rest == std::vector<Bytes>(one.begin() + std::ptrdiff_t(stop), one.end()))
            << stop;
    }
}

TEST(LoaderPhotos, MemoryStaysFlatOverTwentyEpochs) {
    const TemporaryFolder folder;
    put_photos(folder.path(), kImages);
    const DatasetPtr dataset = open_dataset("folder:" + folder.path().string());
    SamplerOptions order;
    order.size = dataset->size();
    order.batch = 20;
    order.tail = Tail::keep;
    LoaderOptions options;
    options.epochs = kEpochs;
    options.max_bad = 0.2;
    Loader loader(dataset, Sampler(order), train_transform(), options);

    double after_three = 0;
    double last = 0;
    std::size_t images = 0;
    while (const Batch* batch = loader.next()) {
        images += batch->size;
        if (!batch->last_of_epoch) continue;
        last = resident_megabytes();
        if (batch->position.epoch == 2) after_three = last;
    }
    EXPECT_EQ(images, kEpochs * dataset->size());
    EXPECT_EQ(loader.bad_images().size(), 1U);
    // A decoded image is 0.56 MB: one that is lost in every epoch would be 10 MB.
    if (!kSanitized) {
        EXPECT_LT(last, after_three + 5);
    }
    RecordProperty("megabytes", std::to_string(last - after_three));
}

}  // namespace
}  // namespace cait::data_test
