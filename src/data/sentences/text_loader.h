// Batches of sentence pairs for training and validation: padded pieces as the inputs of a model
// that translates, and what it should answer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/batch.h"
#include "data/batch_source.h"
#include "data/sentences/encoded_pairs.h"
#include "data/sentences/text_batches.h"

namespace cait {

struct TextLoaderOptions {
    std::int64_t pieces = 4096;  // of all processes together, see TextBatchOptions
    std::int64_t longest = 256;
    std::uint64_t seed = 0;
    std::size_t rank = 0;
    std::size_t world = 1;
    Position start;            // where a resumed run goes on
    std::uint64_t epochs = 1;  // the run ends before this epoch
    bool shuffle = true;
    std::function<void(const std::string&)> note;  // what is worth telling: pairs that are left out
};

// A batch has no images. Of B pairs (this process's share of a batch), with T and U pieces of their
// longest sides as TextBatches pads them:
//   inputs   source [B, T] int64, source_mask [B, T] float32 (1: a piece, 0: padding),
//            target [B, U] int64 (</s>, then the pieces of the target)
//   targets  expected [B, U] int64 (the pieces of the target, then </s>)
// Padding is kPad, on the right. Batch::size is B, keys[i].sample the pair's place in the data set.
class TextLoader final : public BatchSource {
public:
    TextLoader(EncodedPairsPtr pairs, TextLoaderOptions options);
    ~TextLoader() override;

    Batch* next() override;
    Position position() const override;
    const std::vector<BadImage>& bad_images() const override;

    const TextBatches& batches() const noexcept { return batches_; }

private:
    void fill(std::span<const std::uint32_t> pairs);

    EncodedPairsPtr pairs_;
    TextLoaderOptions options_;
    TextBatches batches_;
    std::shared_ptr<const TextOrder> order_;  // of position_.epoch
    Position position_;
    Batch batch_;
};

}  // namespace cait
