// Turns a data set into batches with worker threads. Batches come in the sampler's order whatever
// the threads do, and their bytes do not depend on how many there are.
#pragma once

#include <functional>
#include <memory>

#include "data/bad_images.h"
#include "data/batch.h"
#include "data/dataset.h"
#include "data/sampler.h"
#include "system/cpu_limit.h"

namespace cait {

enum class OnBad {
    skip,    // training: the next sample of the epoch takes its place
    refuse,  // evaluation: the first one is an Error
};

// Numbers that go with every image of a batch, Batch::beside.
struct Beside {
    std::size_t count = 0;  // for each image
    // A function of the image and the key alone, called by several workers at once.
    std::function<void(const Image& image, const SampleKey& key, std::span<float> out)> write;
};

struct LoaderOptions {
    std::int64_t channels = 3;
    std::int64_t height = 224;  // of the images; views have their own
    std::int64_t width = 224;
    int threads = usable_cores();
    int prefetch = 2;          // batches prepared ahead of the one in use
    Position start;            // where a resumed run goes on
    std::uint64_t epochs = 1;  // the run ends before this epoch
    OnBad on_bad = OnBad::skip;
    double max_bad = 0.05;  // of an epoch's samples; more is an Error
    DecodeOptions decode;   // its channels are replaced by those above
    // Called within next() for each bad image once per run, in the order of the batches.
    std::function<void(const BadImage&)> report;
    Beside beside;
    // Called by a worker on each complete batch: mixup. A function of the batch alone.
    std::function<void(Batch&)> finish;
};

class Loader {
public:
    Loader(DatasetPtr dataset, Sampler sampler, Transform transform, LoaderOptions options);
    Loader(const Loader&) = delete;
    Loader& operator=(const Loader&) = delete;
    ~Loader();  // stops the workers, also in the middle of an epoch

    // The next batch, which stays valid and may be changed until the next call; nullptr at the end
    // of the run. Rethrows what went wrong in a worker when the batch in question is reached, and
    // again in every later call.
    Batch* next();

    Position position() const;  // of the batch that next() will return: what a checkpoint keeps
    const std::vector<BadImage>& bad_images() const;

private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace cait
