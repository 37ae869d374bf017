#include "data/sentences/text_loader.h"

#include <fmt/format.h>

#include <utility>

#include "base/piece_ids.h"
#include "cait/error.h"
#include "data/target.h"

namespace cait {

namespace {

// Writes pieces with one more before or behind them, and padding.
void write_row(std::span<const std::int32_t> pieces, bool ends_first, std::span<std::int64_t> row) {
    std::size_t at = 0;
    if (ends_first) row[at++] = kEnd;
    for (const std::int32_t piece : pieces) row[at++] = piece;
    if (!ends_first) row[at++] = kEnd;
    for (; at < row.size(); ++at) row[at] = kPad;
}

}  // namespace

TextLoader::TextLoader(EncodedPairsPtr pairs, TextLoaderOptions options)
    : pairs_(std::move(pairs)),
      options_(std::move(options)),
      batches_(pairs_->lengths(), {options_.pieces, options_.longest, options_.seed,
                                   options_.shuffle, options_.rank, options_.world}),
      position_(options_.start) {
    if (position_.batch >= batches_.batches()) position_ = {position_.epoch + 1, 0};
    if (options_.note && batches_.too_long() > 0)
        options_.note(fmt::format("{}: {} of {} pairs have more than {} pieces and are left out",
                                  pairs_->name(), batches_.too_long(), pairs_->size(),
                                  options_.longest));
}

TextLoader::~TextLoader() = default;

Position TextLoader::position() const { return position_; }

const std::vector<BadImage>& TextLoader::bad_images() const {
    static const std::vector<BadImage> kNone;
    return kNone;
}

Batch* TextLoader::next() {
    if (position_.epoch >= options_.epochs) return nullptr;
    if (!order_) order_ = batches_.order(position_.epoch);
    fill(order_->pairs(std::size_t(position_.batch)));
    batch_.position = position_;
    ++position_.batch;
    batch_.last_of_epoch = position_.batch == batches_.batches();
    if (batch_.last_of_epoch) {
        position_ = {position_.epoch + 1, 0};
        order_.reset();
    }
    return &batch_;
}

void TextLoader::fill(std::span<const std::uint32_t> pairs) {
    const TextBatchShape shape = batches_.shape(pairs);
    const auto rows = std::int64_t(shape.sentences);
    batch_.size = shape.sentences;
    batch_.keys.clear();
    const auto room = [&](std::map<std::string, Tensor>& in, const char* name, DType dtype,
                          std::int64_t length) -> Tensor& {
        return make_room(in, name, dtype, {rows, length});
    };
    Tensor& source = room(batch_.inputs, "source", DType::i64, shape.source);
    Tensor& mask = room(batch_.inputs, "source_mask", DType::f32, shape.source);
    Tensor& target = room(batch_.inputs, "target", DType::i64, shape.target);
    Tensor& expected = room(batch_.targets, "expected", DType::i64, shape.target);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
        const auto row = [i](std::span<std::int64_t> all, std::int64_t length) {
            return all.subspan(i * std::size_t(length), std::size_t(length));
        };
        const std::span<const std::int32_t> read = pairs_->source(pairs[i]);
        const std::span<const std::int32_t> said = pairs_->target(pairs[i]);
        write_row(read, false, row(source.mutable_integers(), shape.source));
        write_row(said, true, row(target.mutable_integers(), shape.target));
        write_row(said, false, row(expected.mutable_integers(), shape.target));
        float* const real = mask.mutable_floats().data() + i * std::size_t(shape.source);
        for (std::size_t k = 0; k < std::size_t(shape.source); ++k)
            real[k] = k <= read.size() ? 1.0F : 0.0F;
        batch_.keys.push_back({options_.seed, position_.epoch, pairs[i], 0, 0});
    }
}

}  // namespace cait
