#include "data/loader.h"

#include <malloc.h>

#include <algorithm>
#include <atomic>

#include "unit/data/memory_dataset.h"

namespace cait::data_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::size_t kPixels = 12;  // 3 x 2 x 2

// The image's number and random numbers of its key: every value depends on image and key.
FloatTransform float_transform() {
    return [](const Image& image, const SampleKey& key, std::span<float> out) {
        RandomStream random = key.stream();
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = float(image.pixels[i]) + random.uniform();
        return Geometry{};
    };
}

ByteTransform byte_transform() {
    return [](const Image& image, const SampleKey&, std::span<std::uint8_t> out) {
        std::ranges::copy(image.pixels, out.begin());
        return Geometry{};
    };
}

LoaderOptions loader_small(int threads = 2) {
    LoaderOptions options;
    options.height = options.width = 2;
    options.threads = threads;
    return options;
}

struct Recorded {
    Position position;
    std::vector<float> values;
    std::vector<std::int64_t> labels;
    std::vector<std::uint64_t> samples;
    bool last = false;
    bool operator==(const Recorded&) const = default;
};

std::vector<Recorded> loader_run(Loader& loader) {
    std::vector<Recorded> batches;
    while (const Batch* batch = loader.next()) {
        const Tensor images = batch->images();
        Recorded recorded{batch->position,
                          {images.floats().begin(), images.floats().end()},
                          {},
                          {},
                          batch->last_of_epoch};
        std::ranges::copy(labels_of(batch->targets), std::back_inserter(recorded.labels));
        for (const SampleKey& key : batch->keys) recorded.samples.push_back(key.sample);
        batches.push_back(std::move(recorded));
    }
    return batches;
}

// What an image shows, the epoch, and how wide the transform says that the image was.
class ThreeNumbers final : public Target {
public:
    void prepare(std::size_t images, Targets& to) const override {
        make_room(to, "numbers", DType::f32, {std::int64_t(images), 3});
    }
    void write(const Sample& from, std::size_t row, Targets& to) const override {
        const auto out = to.at("numbers").mutable_floats().subspan(3 * row, 3);
        out[0] = float(from.image.pixels[0]);
        out[1] = float(from.key.epoch);
        out[2] = float(from.geometry.image.width);
    }
};

TEST(Loader, ATargetStaysWithItsImage) {
    LoaderOptions options = loader_small(3);
    options.targets.push_back(std::make_shared<ThreeNumbers>());
    options.epochs = 2;
    const FloatTransform transform = [](const Image&, const SampleKey& key, std::span<float>) {
        return Geometry{.image = {std::int64_t(100 + key.sample), 1}};
    };
    Loader loader(std::make_shared<MemoryDataset>(21, std::set<std::size_t>{5}, true),
                  Sampler(shuffled(21, 4, Tail::keep)), transform, options);
    std::size_t images = 0;
    while (const Batch* batch = loader.next()) {
        const std::span<const float> numbers = batch->targets.at("numbers").floats();
        ASSERT_EQ(numbers.size(), 3 * batch->size);
        ASSERT_EQ(labels_of(batch->targets).size(), batch->size);
        for (std::size_t i = 0; i < batch->size; ++i, ++images) {
            EXPECT_EQ(numbers[3 * i], float(batch->keys[i].sample));
            EXPECT_EQ(numbers[3 * i + 1], float(batch->position.epoch));
            EXPECT_EQ(numbers[3 * i + 2], float(100 + batch->keys[i].sample));
        }
    }
    EXPECT_EQ(images, 42U);
}

TEST(Loader, ImagesMayBeUnlabelled) {
    LoaderOptions options = loader_small();
    options.targets = {};
    Loader loader(std::make_shared<MemoryDataset>(8), Sampler(shuffled(8, 4)), float_transform(),
                  options);
    const Batch* batch = loader.next();
    ASSERT_NE(batch, nullptr);
    EXPECT_TRUE(batch->targets.empty());
}

TEST(Loader, DeliversEverySampleOnceInTheSamplersOrder) {
    const auto dataset = std::make_shared<MemoryDataset>(23);
    const Sampler order(shuffled(23, 5, Tail::keep));
    Loader loader(dataset, order, float_transform(), loader_small());
    EXPECT_EQ(loader.position(), (Position{0, 0}));
    const auto batches = loader_run(loader);
    ASSERT_EQ(batches.size(), 5U);
    std::size_t place = 0;
    const auto expected = order.order(0);
    for (const Recorded& batch : batches) {
        EXPECT_EQ(batch.values.size(), batch.labels.size() * kPixels);
        for (std::size_t i = 0; i < batch.labels.size(); ++i, ++place) {
            const std::size_t sample = (*expected)[place].sample;
            EXPECT_EQ(batch.samples[i], sample);
            EXPECT_EQ(batch.labels[i], std::int64_t(sample % 2));
            EXPECT_EQ(std::size_t(batch.values[i * kPixels]), sample);
        }
    }
    EXPECT_EQ(place, 23U);
    EXPECT_TRUE(batches.back().last);
    EXPECT_EQ(batches.back().labels.size(), 3U);
    EXPECT_EQ(loader.next(), nullptr);
    EXPECT_EQ(loader.position(), (Position{1, 0}));
}

TEST(Loader, BytesDoNotDependOnTheNumberOfThreads) {
    const auto dataset =
        std::make_shared<MemoryDataset>(200, std::set<std::size_t>{5, 6, 77}, true);
    std::vector<std::vector<Recorded>> runs;
    for (const int threads : {1, 2, 8}) {
        LoaderOptions options = loader_small(threads);
        options.epochs = 3;
        options.prefetch = threads;
        Loader loader(dataset, Sampler(shuffled(200, 16)), float_transform(), options);
        runs.push_back(loader_run(loader));
        EXPECT_EQ(runs.back().size(), 36U);
    }
    EXPECT_TRUE(runs[0] == runs[1]);
    EXPECT_TRUE(runs[0] == runs[2]);
    EXPECT_NE(runs[0][0].values, runs[0][12].values);  // the next epoch differs
}

TEST(Loader, ResumesAtAnyBatch) {
    const auto dataset = std::make_shared<MemoryDataset>(40, std::set<std::size_t>{7});
    LoaderOptions options = loader_small();
    options.epochs = 2;
    Loader whole(dataset, Sampler(shuffled(40, 6)), float_transform(), options);
    const auto all = loader_run(whole);
    ASSERT_EQ(all.size(), 12U);
    for (std::size_t stop = 0; stop <= all.size(); ++stop) {
        options.start = {0, 0};
        Loader first(dataset, Sampler(shuffled(40, 6)), float_transform(), options);
        for (std::size_t i = 0; i < stop; ++i) ASSERT_NE(first.next(), nullptr);
        options.start = first.position();
        Loader second(dataset, Sampler(shuffled(40, 6)), float_transform(), options);
        const auto rest = loader_run(second);
        EXPECT_EQ(rest, std::vector<Recorded>(all.begin() + std::ptrdiff_t(stop), all.end()))
            << stop;
    }
    // The end of an epoch and the start of the next are the same place.
    options.start = {0, 6};
    Loader third(dataset, Sampler(shuffled(40, 6)), float_transform(), options);
    EXPECT_EQ(third.position(), (Position{1, 0}));
}

TEST(Loader, MakesBytesToo) {
    const auto dataset = std::make_shared<MemoryDataset>(4);
    SamplerOptions order = shuffled(4, 4);
    order.shuffle = false;
    Loader loader(dataset, Sampler(order), byte_transform(), loader_small());
    const Batch* batch = loader.next();
    ASSERT_NE(batch, nullptr);
    EXPECT_EQ(batch->storage.dtype(), DType::u8);
    EXPECT_EQ(batch->storage.shape(), (Shape{4, 3, 2, 2}));
    for (std::size_t i = 0; i < 4 * kPixels; ++i)
        EXPECT_EQ(int(batch->storage.bytes()[i]), int(i / kPixels));
}

TEST(Loader, MixesWholeBatches) {
    LoaderOptions options = loader_small();
    options.targets = {label_target(SoftLabels{.classes = 2, .smoothing = 0})};
    options.mix = [](const Batch& batch) {
        return std::vector<MixDraw>(batch.size, MixDraw{.share = 0.25});
    };
    const FloatTransform number = [](const Image& image, const SampleKey&, std::span<float> out) {
        std::ranges::fill(out, float(image.pixels[0]));
        return Geometry{};
    };
    Loader loader(std::make_shared<MemoryDataset>(8), Sampler(shuffled(8, 4)), number, options);
    while (const Batch* batch = loader.next()) {
        const std::span<const float> rows = batch->targets.at(kLabelRows).floats();
        ASSERT_EQ(rows.size(), 8U);
        for (std::size_t i = 0; i < 4; ++i) {
            const auto own = batch->keys[i].sample, other = batch->keys[3 - i].sample;
            EXPECT_EQ(batch->images().floats()[i * kPixels],
                      0.25F * float(own) + 0.75F * float(other));
            const float odd = 0.25F * float(own % 2) + 0.75F * float(other % 2);
            EXPECT_EQ(rows[2 * i + 1], odd);
            EXPECT_EQ(rows[2 * i], 1 - odd);
        }
    }
}

TEST(Loader, RepeatedAugmentationGivesEachCopyItsOwnKey) {
    SamplerOptions order = shuffled(30, 3);
    order.repeats = 3;
    Loader loader(std::make_shared<MemoryDataset>(30), Sampler(order), float_transform(),
                  loader_small());
    const Batch* batch = loader.next();
    EXPECT_EQ(batch->keys[0].sample, batch->keys[2].sample);
    EXPECT_EQ(batch->keys[2].copy, 2U);
    EXPECT_NE(batch->images().floats()[0], batch->images().floats()[kPixels]);
}

TEST(Loader, EachWorkerHasItsOwnCopyOfTheTransform) {
    // The scratch buffer would be a data race if workers shared it.
    const FloatTransform transform = [scratch = std::vector<float>()](
                                         const Image& image, const SampleKey&,
                                         std::span<float> out) mutable {
        scratch.assign(image.pixels.begin(), image.pixels.end());
        std::ranges::copy(scratch, out.begin());
        return Geometry{};
    };
    Loader loader(std::make_shared<MemoryDataset>(256, std::set<std::size_t>{}, true),
                  Sampler(shuffled(256, 32)), transform, loader_small(8));
    while (const Batch* batch = loader.next())
        for (std::size_t i = 0; i < batch->size; ++i)
            EXPECT_EQ(batch->images().floats()[i * kPixels], float(batch->keys[i].sample));
}

TEST(Loader, AProcessWithoutAShareEndsAtOnce) {
    SamplerOptions order = shuffled(2, 4, Tail::keep);
    order.world = 3;
    order.rank = 2;
    LoaderOptions options = loader_small();
    options.epochs = 4;
    Loader loader(std::make_shared<MemoryDataset>(2), Sampler(order), float_transform(), options);
    EXPECT_EQ(loader.next(), nullptr);
}

TEST(Loader, StopsCleanlyInTheMiddleOfAnEpoch) {
    const auto dataset = std::make_shared<MemoryDataset>(500, std::set<std::size_t>{}, true);
    for (int taken = 0; taken < 6; ++taken) {
        LoaderOptions options = loader_small(8);
        options.prefetch = 4;
        options.epochs = 100;
        Loader loader(dataset, Sampler(shuffled(500, 16)), float_transform(), options);
        for (int i = 0; i < taken; ++i) EXPECT_NE(loader.next(), nullptr);
    }
}

TEST(Loader, PreparesNoMoreThanItShould) {
    std::atomic<int> made = 0;
    const FloatTransform counting = [&](const Image&, const SampleKey&, std::span<float>) {
        ++made;
        return Geometry{};
    };
    LoaderOptions options = loader_small(4);
    options.prefetch = 2;
    Loader loader(std::make_shared<MemoryDataset>(1000), Sampler(shuffled(1000, 10)), counting,
                  options);
    loader.next();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_LE(made, 30);  // the one in use and two ahead
    for (int i = 0; i < 9; ++i) loader.next();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_LE(made, 120);
}

TEST(Loader, RefusesNonsense) {
    const auto message = [](std::size_t size, const std::function<void(LoaderOptions&)>& change) {
        LoaderOptions options = loader_small();
        change(options);
        const Failure failure = failure_of([&] {
            Loader(std::make_shared<MemoryDataset>(size), Sampler(shuffled(8, 4)),
                   float_transform(), options);
        });
        EXPECT_EQ(failure.kind, ErrorKind::usage);
        return failure.message;
    };
    EXPECT_THAT(message(9, [](LoaderOptions&) {}), HasSubstr("8 samples, memory has 9"));
    EXPECT_THAT(message(8, [](LoaderOptions& o) { o.threads = 0; }), HasSubstr("threads"));
    EXPECT_THAT(message(8, [](LoaderOptions& o) { o.prefetch = 0; }), HasSubstr("prefetch"));
    EXPECT_THAT(message(8, [](LoaderOptions& o) { o.channels = 4; }), HasSubstr("channels"));
    EXPECT_THAT(message(8, [](LoaderOptions& o) { o.width = 0; }), HasSubstr("positive size"));
    EXPECT_THAT(message(8, [](LoaderOptions& o) { o.max_bad = 2; }), HasSubstr("max_bad"));
    EXPECT_THAT(message(8, [](LoaderOptions& o) { o.start = {0, 3}; }), HasSubstr("up to 2"));
    EXPECT_THAT(failure_of([] {
                    LoaderOptions options = loader_small();
                    options.mix = [](const Batch&) { return std::vector<MixDraw>(); };
                    Loader(std::make_shared<MemoryDataset>(8), Sampler(shuffled(8, 4)),
                           byte_transform(), options);
                }).message,
                HasSubstr("mix: expected single images as floats"));
}

// Bytes that are allocated and not freed, in all arenas. (Resident memory is no measure here: the
// sanitizers keep freed memory for a while.)
std::size_t allocated() {
    const auto info = ::mallinfo2();
    return info.uordblks + info.hblkhd;
}

TEST(Loader, MemoryStaysFlatOverTwentyEpochs) {
    const auto dataset = std::make_shared<MemoryDataset>(50000, std::set<std::size_t>{3, 99});
    LoaderOptions options = loader_small(4);
    options.epochs = 20;
    Loader loader(dataset, Sampler(shuffled(50000, 64)), float_transform(), options);
    std::size_t after_two = 0;
    std::size_t last = 0;
    while (const Batch* batch = loader.next()) {
        last = allocated();
        if (batch->last_of_epoch && batch->position.epoch == 1) after_two = last;
    }
    // One leaked order an epoch would be 3.6 MB, 100 bytes a batch 1.4 MB. At the end of the second
    // epoch the third's order (200 kB) may be there already.
    EXPECT_LT(last, after_two + 300'000);
}

}  // namespace
}  // namespace cait::data_test
