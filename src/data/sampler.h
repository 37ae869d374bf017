// Which sample comes when: a pure function of seed and epoch, so that a run can be taken up again
// at any batch and so that every process of a distributed run knows its share without talking.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/philox.h"
#include "data/deal.h"

namespace cait {

// What happens to the samples that do not fill a batch, or do not divide among the processes.
enum class Tail {
    drop,  // whole batches only, as many in every process (training)
    last,  // as drop, and then what is left, in a smaller batch; as many in every process
    keep,  // every sample exactly once; processes may differ by one sample (evaluation)
    wrap,  // as many in every process, filled up from the start of the order
};

struct SamplerOptions {
    std::size_t size = 0;   // samples in the data set
    std::size_t batch = 1;  // per process
    std::uint64_t seed = 0;
    bool shuffle = true;
    std::size_t rank = 0;
    std::size_t world = 1;
    bool pairs = false;  // see Deal; a batch of each process is even then
    // Repeated augmentation (Hoffer et al. 2020), as DeiT does it: each image that is drawn comes
    // `repeats` times in a row, dealt out to the processes in turn, and an epoch ends after
    // floor(size // 256 * 256 / world) of them (size below 256: size / world).
    std::size_t repeats = 1;
    Tail tail = Tail::drop;
    // First index of each stretch to be read from front to back (Dataset::stretches). Then whole
    // stretches are shuffled, and samples only within `window` neighbours.
    std::vector<std::size_t> stretches;
    std::size_t window = 4096;
};

// Where a run stands: the next batch to be used. Enough to resume.
struct Position {
    std::uint64_t epoch = 0;
    std::uint64_t batch = 0;
    bool operator==(const Position&) const = default;
};

struct Pick {
    std::size_t sample = 0;
    std::size_t copy = 0;  // 0 to repeats - 1
    bool operator==(const Pick&) const = default;
};

// What makes one use of one sample unique. Augmentation is a pure function of the image and of this
// key, so a batch does not depend on which thread prepared it, nor on how many there are.
struct SampleKey {
    std::uint64_t seed = 0;
    std::uint64_t epoch = 0;
    std::uint64_t sample = 0;  // index in the data set
    std::uint64_t copy = 0;    // which use of the sample in this epoch (repeated augmentation)
    std::uint64_t view = 0;    // which view of that use, where there are several

    // Numbers that belong to this key and to `salt` alone, so that two augmentations of one sample
    // are independent of each other.
    RandomStream stream(std::uint64_t salt = 0) const noexcept {
        const PhiloxBlock mixed = philox(salt ^ (view << 32), (epoch << 16) ^ copy, sample);
        return {seed, std::uint64_t(mixed[0]) << 32 | mixed[1]};
    }
    bool operator==(const SampleKey&) const = default;
};

// One epoch's order as one process sees it.
class EpochOrder {
public:
    std::size_t size() const noexcept { return size_; }
    Pick operator[](std::size_t position) const;

private:
    friend class Sampler;
    std::vector<std::uint32_t> order_;  // of the whole data set; all processes have the same
    std::size_t size_ = 0;
    std::size_t batch_ = 1, repeats_ = 1;
    Deal deal_;
};

class Sampler {
public:
    // Throws UsageError for options that make no sense, such as a batch larger than the epoch.
    explicit Sampler(SamplerOptions options);

    std::size_t epoch_size() const noexcept { return epoch_size_; }  // samples of this process
    std::size_t batches() const noexcept { return batches_; }        // of this process, per epoch
    std::size_t batch_size(std::uint64_t batch) const;               // the last may be smaller
    std::size_t last_batch() const;  // images of the last one, in all processes together
    // Of an epoch, in all processes together, in no batch: others in each epoch where it is
    // shuffled.
    std::size_t left_out() const;
    const SamplerOptions& options() const noexcept { return options_; }

    // O(size), for one epoch at a time.
    std::shared_ptr<const EpochOrder> order(std::uint64_t epoch) const;

private:
    SamplerOptions options_;
    std::size_t epoch_size_ = 0;
    std::size_t batches_ = 0;
};

}  // namespace cait
