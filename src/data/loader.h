// Turns a data set into batches with worker threads. Batches come in the sampler's order whatever
// the threads do, and their bytes do not depend on how many there are.
#pragma once

#include <functional>
#include <memory>

#include "data/bad_images.h"
#include "data/batch.h"
#include "data/batch_source.h"
#include "data/dataset.h"
#include "data/sampler.h"
#include "data/targets/label.h"
#include "system/cpu_limit.h"

namespace cait {

enum class OnBad {
    replace,    // training: the next sample of the epoch takes its place
    leave_out,  // its batch has an image less; a batch without any is not handed out
    refuse,     // the first one is an Error
};

struct LoaderOptions {
    std::int64_t channels = 3;
    std::int64_t height = 224;  // of the images; views have their own
    std::int64_t width = 224;
    int threads = usable_cores();
    int prefetch = 2;          // batches prepared ahead of the one in use
    Position start;            // where a resumed run goes on
    std::uint64_t epochs = 1;  // the run ends before this epoch
    OnBad on_bad = OnBad::replace;
    double max_bad = 0.05;  // of an epoch's samples; more is an Error
    DecodeOptions decode;   // its channels are replaced by those above
    // Called within next() for each bad image once per run, in the order of the batches.
    std::function<void(const BadImage&)> report;
    TargetList targets = {label_target()};  // empty: images without labels
    // How the images of a complete batch are mixed; empty: not at all. A function of the batch's
    // size and position alone.
    std::function<std::vector<MixDraw>(const Batch&)> mix;
};

class Loader final : public BatchSource {
public:
    Loader(DatasetPtr dataset, Sampler sampler, Transform transform, LoaderOptions options);
    ~Loader() override;  // stops the workers, also in the middle of an epoch

    Batch* next() override;
    Position position() const override;
    const std::vector<BadImage>& bad_images() const override;

private:
    class Implementation;
    std::unique_ptr<Implementation> implementation_;
};

}  // namespace cait
