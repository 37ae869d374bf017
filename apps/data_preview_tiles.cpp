#include "data_preview_tiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cait/error.h"
#include "data/random.h"
#include "image/normalise.h"
#include "train/recipe/batch_mixing.h"
#include "train/recipe/recipe_data.h"
#include "train/recipe/recipe_file.h"
#include "train/recipe/recipe_keys.h"

namespace cait::app {

bool is_policy(const std::string& text) {
    try {
        parse_policy(text);
    } catch (const UsageError&) {
        return text.starts_with("rand");  // meant as one: its own message says what is wrong
    }
    return true;
}

Recipe recipe_to_show(const std::string& text) {
    if (!is_policy(text)) return find_recipe(text);
    Recipe recipe;
    set_recipe_value(recipe, "augment.policy", text);
    return recipe;
}

// The noise of random erasing is to be seen too.
Image seen_image(std::span<const float> values, ImageSize size, const ChannelValues& mean,
                 const ChannelValues& std) {
    Image result = Image::blank(size.width, size.height, 3);
    const std::size_t plane = values.size() / 3;
    for (std::size_t c = 0; c < 3; ++c)
        for (std::size_t i = 0; i < plane; ++i) {
            const float value = values[c * plane + i] * std[c] + mean[c];
            result.pixels[3 * i + c] =
                std::uint8_t(std::lround(std::clamp(value, 0.0F, 1.0F) * 255));
        }
    return result;
}

// The mean is not seen: seen_image() takes it back.
TileMaker::TileMaker(const Recipe& recipe, ImageSize size, std::vector<std::string> classes)
    : seed_(std::uint64_t(recipe.train.seed)),
      transform_(train_settings(recipe, size.height, size.width, kImageNetMean, kImageNetStd)),
      classes_(std::move(classes)),
      spread_(float(recipe.loss.smoothing) / float(classes_.size())) {
    const Mixup mixup = mixup_settings(recipe);
    if (mixup.active()) {
        mix_ = batch_mixing(recipe, mixup, size);
        targets_ = {label_target(soft_labels(recipe, std::int64_t(classes_.size())))};
    }
    if (recipe.views.name != ViewsKind::none)
        views_ = view_transform(recipe, transform_.settings());
    if (recipe.views.name == ViewsKind::multi_crop)
        crops_.emplace(multi_crop_settings(recipe.views, size, kImageNetMean, kImageNetStd));
}

std::uint64_t TileMaker::views() const {
    std::int64_t count = views_ ? 0 : 1;
    if (views_)
        for (const ViewTransform::Group& group : views_->groups) count += group.count;
    return std::uint64_t(count);
}

std::vector<SheetTile> TileMaker::tiles(std::span<const ShownImage> images,
                                        const Position& position, std::uint64_t view) {
    return views_ ? view_tiles(images, position, view) : batch_tiles(images, position);
}

std::vector<SheetTile> TileMaker::view_tiles(std::span<const ShownImage> images,
                                             const Position& position, std::uint64_t view) {
    ImageSize size{transform_.settings().height, transform_.settings().width};
    if (crops_) size = crops_->size(view);
    std::vector<float> values(std::size_t(3 * size.height * size.width));
    std::vector<SheetTile> result;
    for (const ShownImage& image : images) {
        const SampleKey own = key(image, position, view);
        views_->write(image.image, own, values);
        result.push_back(
            {seen_image(values, size, transform_.settings().mean, transform_.settings().std),
             view_text(image, own)});
    }
    return result;
}

// "shirt", "local 3" and "jitter blur".
std::string TileMaker::view_text(const ShownImage& image, const SampleKey& key) const {
    const std::string& label = classes_[std::size_t(image.label)];
    if (!crops_) return fmt::format("{}\nview {}\n{}", label, key.view + 1, operations(key));
    const auto globals = std::uint64_t(crops_->settings().globals);
    const bool local = key.view >= globals;
    const ViewDraw drawn = crops_->draw(image.image.width, image.image.height, key);
    return fmt::format("{}\n{} {}\n{}{}{}{}", label, local ? "local" : "global",
                       key.view + 1 - (local ? globals : 0), drawn.jitter ? "jitter " : "",
                       drawn.grey ? "grey " : "", drawn.radius ? "blur " : "",
                       drawn.solarized ? "solarize" : "");
}

std::vector<SheetTile> TileMaker::batch_tiles(std::span<const ShownImage> images,
                                              const Position& position) {
    const TrainSettings& settings = transform_.settings();
    Batch batch;
    batch.size = images.size() + images.size() % 2;  // images are mixed in pairs
    batch.position = position;
    batch.storage =
        Tensor::empty(DType::f32, {std::int64_t(batch.size), 3, settings.height, settings.width});
    const std::span<float> values = batch.storage.mutable_floats();
    const std::size_t each = values.size() / batch.size;
    std::vector<std::int64_t> labels;
    for (std::size_t i = 0; i < batch.size; ++i) {
        const ShownImage& image = images[i % images.size()];
        labels.push_back(image.label);
        transform_.apply(image.image, key(image, position), workspace_,
                         values.subspan(i * each, each));
    }
    batch.targets[kLabels] = Tensor::of({std::int64_t(batch.size)}, labels);
    if (mix_) batch.finish(mix_(batch), targets_);
    std::vector<SheetTile> result;
    for (std::size_t i = 0; i < images.size(); ++i)
        result.push_back(
            {seen_image(values.subspan(i * each, each), {settings.height, settings.width},
                        settings.mean, settings.std),
             label_text(batch, i) + "\n" + operations(key(images[i], position))});
    return result;
}

SampleKey TileMaker::key(const ShownImage& image, const Position& position,
                         std::uint64_t view) const {
    return {seed_, position.epoch, image.index, 0, view};
}

// "dress 70%" and below it "shirt 30%": without what label smoothing gives to all classes.
std::string TileMaker::label_text(const Batch& batch, std::size_t place) const {
    const std::span<const std::int64_t> labels = labels_of(batch.targets);
    const auto own = std::size_t(labels[place]);
    const auto other = std::size_t(labels[batch.size - 1 - place]);
    const auto rows = batch.targets.find(kLabelRows);
    if (rows == batch.targets.end() || own == other) return classes_[own];
    const std::span<const float> targets =
        rows->second.floats().subspan(place * classes_.size(), classes_.size());
    const float share = targets[own] - spread_, rest = targets[other] - spread_;
    const auto percent = share + rest > 0 ? std::lround(100 * share / (share + rest)) : 100;
    if (percent == 100) return classes_[own];
    return fmt::format("{} {}%\n{} {}%", classes_[own], percent, classes_[other], 100 - percent);
}

std::string TileMaker::operations(const SampleKey& key) const {
    RandomStream random = key.stream(std::uint64_t(AugmentStream::policy));
    std::string text;
    for (const OperationCall& call : draw(transform_.settings().policy, random))
        if (call.operation != Operation::identity)
            text += fmt::format("{}{}", text.empty() ? "" : " ", operation_name(call.operation));
    return text;
}

}  // namespace cait::app
