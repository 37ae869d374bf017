// Several views of each image in one batch: where they stand, and that they are as exact as single
// images.
#include <atomic>

#include "data/dataset.h"
#include "data/loader.h"
#include "unit/data/memory_dataset.h"

namespace cait::data_test {
namespace {

using ::testing::HasSubstr;

// Every value tells the image, its key's numbers and the view.
ViewTransform two_groups() {
    return {
        {{2, 2, 2}, {3, 1, 2}}, [](const Image& image, const SampleKey& key, std::span<float> out) {
            RandomStream random = key.stream();
            for (float& value : out)
                value =
                    float(image.pixels[0]) + 0.125F * float(key.view) + 0.0625F * random.uniform();
            return Geometry{};
        }};
}

LoaderOptions with_threads(int threads, Position start = {}) {
    LoaderOptions options;
    options.threads = threads;
    options.epochs = 2;
    options.start = start;
    return options;
}

using Pixels = std::vector<std::vector<float>>;  // of each group of each batch

Pixels loader_views_run(Loader& loader) {
    Pixels all;
    while (const Batch* batch = loader.next())
        for (const ViewGroup& group : batch->views) all.push_back(group.pixels);
    return all;
}

TEST(LoaderViews, ViewAfterViewInGroupsOfOneSize) {
    Loader loader(std::make_shared<MemoryDataset>(23, std::set<std::size_t>{4}, true),
                  Sampler(shuffled(23, 5, Tail::keep)), two_groups(), with_threads(3));
    std::size_t images = 0;
    while (const Batch* batch = loader.next()) {
        ASSERT_EQ(batch->views.size(), 2U);
        std::uint64_t number = 0;
        for (const ViewGroup& group : batch->views) {
            const auto each = std::size_t(3 * group.height * group.width);
            ASSERT_EQ(group.pixels.size(), std::size_t(group.count) * batch->size * each);
            for (std::size_t v = 0; v < std::size_t(group.count); ++v, ++number)
                for (std::size_t i = 0; i < batch->size; ++i) {
                    SampleKey key = batch->keys[i];
                    EXPECT_EQ(key.view, 0U);
                    key.view = number;
                    RandomStream random = key.stream();
                    EXPECT_EQ(
                        group.pixels[(v * batch->size + i) * each],
                        float(key.sample) + 0.125F * float(number) + 0.0625F * random.uniform());
                }
        }
        const std::span<const std::int64_t> labels = labels_of(batch->targets);
        EXPECT_EQ(labels.size(), batch->size);
        EXPECT_EQ(labels[0], std::int64_t(batch->keys[0].sample % 2));
        EXPECT_THROW(batch->images(), Error);
        images += batch->size;
    }
    EXPECT_EQ(images, 46U);
}

TEST(LoaderViews, BytesDoNotDependOnTheNumberOfThreads) {
    const auto dataset = std::make_shared<MemoryDataset>(60, std::set<std::size_t>{5, 6}, true);
    std::vector<Pixels> runs;
    for (const int threads : {1, 2, 8}) {
        Loader loader(dataset, Sampler(shuffled(60, 7, Tail::keep)), two_groups(),
                      with_threads(threads));
        runs.push_back(loader_views_run(loader));
    }
    EXPECT_TRUE(runs[0] == runs[1]);
    EXPECT_TRUE(runs[0] == runs[2]);
    EXPECT_NE(runs[0][0], runs[0][18]);  // the next epoch differs
}

TEST(LoaderViews, GoesOnAtAnyBatch) {
    const auto dataset = std::make_shared<MemoryDataset>(30, std::set<std::size_t>{7});
    Loader whole(dataset, Sampler(shuffled(30, 8, Tail::keep)), two_groups(), with_threads(2));
    const Pixels all = loader_views_run(whole);
    ASSERT_EQ(all.size(), 16U);
    for (std::size_t stop = 0; stop <= 8; ++stop) {
        Loader first(dataset, Sampler(shuffled(30, 8, Tail::keep)), two_groups(), with_threads(2));
        for (std::size_t i = 0; i < stop; ++i) ASSERT_NE(first.next(), nullptr);
        Loader second(dataset, Sampler(shuffled(30, 8, Tail::keep)), two_groups(),
                      with_threads(2, first.position()));
        EXPECT_EQ(loader_views_run(second),
                  Pixels(all.begin() + std::ptrdiff_t(2 * stop), all.end()))
            << stop;
    }
}

// Counts how often each image is read.
class CountingDataset final : public ForwardingDataset {
public:
    explicit CountingDataset(DatasetPtr inner)
        : ForwardingDataset(std::move(inner), {{"even", "odd"}, false}) {}
    void read(std::size_t i, const DecodeOptions& options, Image& out) const override {
        ++reads;
        inner().read(i, options, out);
    }
    mutable std::atomic<int> reads = 0;
};

TEST(LoaderViews, AnImageIsDecodedOnceForAllItsViews) {
    const auto dataset = std::make_shared<CountingDataset>(std::make_shared<MemoryDataset>(12));
    LoaderOptions options = with_threads(2);
    options.epochs = 1;
    Loader loader(dataset, Sampler(shuffled(12, 4, Tail::keep)), two_groups(), options);
    EXPECT_EQ(loader_views_run(loader).size(), 6U);
    EXPECT_EQ(dataset->reads, 12);
}

TEST(LoaderViews, RefusesNonsense) {
    const auto message = [](std::vector<ViewTransform::Group> groups) {
        const Failure failure = failure_of([&] {
            Loader(std::make_shared<MemoryDataset>(8), Sampler(shuffled(8, 4, Tail::keep)),
                   ViewTransform{std::move(groups), two_groups().write}, with_threads(1));
        });
        EXPECT_EQ(failure.kind, ErrorKind::usage);
        return failure.message;
    };
    EXPECT_THAT(message({}), HasSubstr("found none"));
    EXPECT_THAT(message({{2, 2, 2}, {0, 2, 2}}), HasSubstr("0 of 2 x 2"));
    EXPECT_THAT(message({{2, 2, 0}}), HasSubstr("2 of 2 x 0"));
}

}  // namespace
}  // namespace cait::data_test
