// A data set in memory for the loader's tests: images that know their number, some of them bad,
// some of them slow.
#pragma once

#include <chrono>
#include <set>
#include <thread>

#include "data/dataset.h"
#include "data/sampler.h"
#include "unit/data/support.h"

namespace cait::data_test {

class MemoryDataset final : public Dataset {
public:
    explicit MemoryDataset(std::size_t size, std::set<std::size_t> bad = {}, bool uneven = false)
        : Dataset("memory", {{"even", "odd"}, false}),
          size_(size),
          bad_(std::move(bad)),
          uneven_(uneven) {}

    std::size_t size() const noexcept override { return size_; }
    std::string name(std::size_t i) const override { return "image" + std::to_string(i); }
    std::int64_t label(std::size_t i) const override { return std::int64_t(i % 2); }
    void read(std::size_t i, const DecodeOptions&, Image& out) const override {
        // Later samples are sometimes done first.
        if (uneven_ && i % 7 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (bad_.contains(i)) throw Error(name(i) + ": truncated");
        out.width = out.height = 2;
        out.channels = 3;
        out.pixels.assign(12, std::uint8_t(i));
    }

private:
    std::size_t size_;
    std::set<std::size_t> bad_;
    bool uneven_;
};

inline SamplerOptions shuffled(std::size_t size, std::size_t batch, Tail tail = Tail::drop) {
    SamplerOptions options;
    options.size = size;
    options.batch = batch;
    options.tail = tail;
    options.seed = 3;
    return options;
}

}  // namespace cait::data_test
