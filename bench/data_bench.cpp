// How many images a second the loader prepares for training. `./dev bench data` runs these beside
// torchvision on the same files; by themselves they need CAIT_BENCH_IMAGES, a folder of classes.
// Those with label images and boxes are run by `./dev bench dense`: they need CAIT_BENCH_DENSE, a
// folder with images/, labels/ and boxes.json.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/philox.h"
#include "cait/error.h"
#include "data/augment/detection_transform.h"
#include "data/augment/segmentation_transform.h"
#include "data/augment/train_transform.h"
#include "data/loader.h"
#include "data/open_dataset.h"
#include "data/targets/label_image.h"
#include "data/targets/objects.h"

namespace cait {
namespace {

namespace fs = std::filesystem;

// What the loader is to do with the images of a data set.
struct Preparing {
    Transform transform;
    std::int64_t height, width;
    std::size_t batch = 32;
    TargetList targets = {label_target()};
};

// One epoch from the first file to the last batch, threads started and ended included.
std::size_t run_epoch(const DatasetPtr& dataset, const Preparing& preparing, int threads,
                      std::uint64_t epoch) {
    SamplerOptions order;
    order.size = dataset->size();
    order.batch = preparing.batch;
    order.tail = Tail::keep;
    LoaderOptions options;
    options.height = preparing.height;
    options.width = preparing.width;
    options.threads = threads;
    options.start.epoch = epoch;
    options.epochs = epoch + 1;
    options.targets = preparing.targets;
    Loader loader(dataset, Sampler(order), preparing.transform, options);
    std::size_t images = 0;
    while (const Batch* batch = loader.next()) images += batch->size;
    return images;
}

void count_epochs(benchmark::State& state, const DatasetPtr& dataset, const Preparing& preparing) {
    const int threads = int(state.range(0));
    std::uint64_t epoch = 0;
    run_epoch(dataset, preparing, threads, epoch++);  // the files come into the page cache
    std::size_t images = 0;
    for (auto _ : state) images += run_epoch(dataset, preparing, threads, epoch++);
    state.SetItemsProcessed(std::int64_t(images));
}

Preparing for_classes(const TrainSettings& settings) {
    return {
        FloatTransform([transform = TrainTransform(settings), workspace = TrainWorkspace()](
                           const Image& image, const SampleKey& key, std::span<float> out) mutable {
            return transform.apply(image, key, workspace, out);
        }),
        settings.height, settings.width};
}

// The argument is the number of loader threads.
void data_photos(benchmark::State& state) {
    const char* folder = std::getenv("CAIT_BENCH_IMAGES");
    if (folder == nullptr)
        return state.SkipWithError("needs CAIT_BENCH_IMAGES, which `./dev bench data` sets");
    TrainSettings settings;
    settings.policy = parse_policy("rand-m9-mstd0.5-inc1");
    settings.erasing.probability = 0.25;
    count_epochs(state, open_dataset(std::string("folder:") + folder), for_classes(settings));
}
BENCHMARK(data_photos)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

// A CIFAR-10 folder of noise, gone when this is.
class TemporaryCifar {
public:
    TemporaryCifar() {
        std::string name = (fs::temp_directory_path() / "cait-bench-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) throw Error(name + ": cannot be made");
        path_ = name;
        std::ofstream names(path_ / "batches.meta.txt");
        for (int c = 0; c < 10; ++c) names << "class" << c << '\n';
        RandomStream random(1, "cifar");
        std::vector<char> record(1 + 3 * 32 * 32);
        std::ofstream file(path_ / "test_batch.bin", std::ios::binary);
        for (int i = 0; i < 10'000; ++i) {
            for (char& byte : record) byte = char(random.bits());
            record[0] = char(i % 10);
            file.write(record.data(), std::streamsize(record.size()));
        }
    }
    ~TemporaryCifar() { fs::remove_all(path_); }
    TemporaryCifar(const TemporaryCifar&) = delete;
    TemporaryCifar& operator=(const TemporaryCifar&) = delete;

    std::string uri() const { return "cifar10:" + path_.string() + "?split=test"; }

private:
    fs::path path_;
};

void data_cifar(benchmark::State& state) {
    const TemporaryCifar folder;
    TrainSettings settings;
    settings.height = settings.width = 32;
    settings.crop = CropKind::padded;
    count_epochs(state, open_dataset(folder.uri()), for_classes(settings));
}
BENCHMARK(data_cifar)->Arg(1)->UseRealTime()->Unit(benchmark::kMillisecond);

// Scale jitter, a crop of 512 that is not all of one class, flip, changes of colour: of the image
// and of its label image.
void joint_segments(benchmark::State& state) {
    const char* folder = std::getenv("CAIT_BENCH_DENSE");
    if (folder == nullptr)
        return state.SkipWithError("needs CAIT_BENCH_DENSE, which `./dev bench dense` sets");
    const SegmentationSettings settings;
    count_epochs(state, open_dataset(std::string("segmentation:") + folder),
                 {LabelledTransform([transform = SegmentationTransform(settings),
                                     workspace = SegmentationWorkspace()](
                                        const Image& image, const LabelImage& labels,
                                        const SampleKey& key, std::span<float> out) mutable {
                      return transform.apply(image, labels, key, workspace, out);
                  }),
                  settings.height,
                  settings.width,
                  8,
                  {label_image_target({.height = settings.height, .width = settings.width})}});
}
BENCHMARK(joint_segments)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

// A short side of 480 to 800 pixels and flip, of the image and of its boxes.
void joint_boxes(benchmark::State& state) {
    const char* folder = std::getenv("CAIT_BENCH_DENSE");
    if (folder == nullptr)
        return state.SkipWithError("needs CAIT_BENCH_DENSE, which `./dev bench dense` sets");
    DetectionSettings settings;
    settings.crop = 0;
    count_epochs(
        state,
        open_dataset(std::string("coco:") + folder + "/boxes.json?images=" + folder + "/images"),
        {FloatTransform(
             [transform = DetectionTransform(settings), workspace = DetectionWorkspace()](
                 const Image& image, const SampleKey& key, std::span<float> out) mutable {
                 return transform.apply(image, key, workspace, out);
             }),
         settings.height,
         settings.width,
         2,
         {objects_target({.height = settings.height, .width = settings.width}, false)}});
}
BENCHMARK(joint_boxes)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace cait
