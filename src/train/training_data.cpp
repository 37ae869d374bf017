#include "train/training_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "data/open_dataset.h"
#include "data/split.h"
#include "data/statistics.h"
#include "image/preparer.h"
#include "train/recipe/batch_mixing.h"
#include "train/recipe/objective_rows.h"
#include "train/recipe/recipe_data.h"

namespace cait {

namespace {

constexpr std::size_t kMeasuredImages = 10'000;

std::vector<bool> classes_with_images(const Dataset& images) {
    std::vector<bool> found(images.classes().size(), false);
    for (std::size_t i = 0; i < images.size(); ++i)
        for (const std::int64_t label : images.labels(i))
            if (label != kUnlabelled) found[std::size_t(label)] = true;
    return found;
}

// "12 of the 48 images, held out of every class by seed 0", where that is so.
std::string holdout_text(const Holdout& parts, const Dataset& all, const Recipe& recipe) {
    if (all.has_label_images() || all.has_objects() || all.has_sentences())
        return fmt::format("{} of the {} {}, held out by seed {}", parts.held_out->size(),
                           all.size(), all.has_sentences() ? "sentence pairs" : "images",
                           recipe.train.seed);
    const std::vector<bool> known = classes_with_images(all);
    const auto classes = std::ranges::count(known, true);
    const auto validated = std::ranges::count(classes_with_images(*parts.held_out), true);
    const std::size_t held_out = parts.held_out->size();
    std::string text =
        fmt::format("{} of the {} images, held out of {} by seed {}", held_out, all.size(),
                    validated == classes ? std::string("every class")
                                         : fmt::format("{} of the {} classes", validated, classes),
                    recipe.train.seed);
    const double asked = recipe.data.holdout * double(all.size());
    if (double(held_out) > asked + 1)
        text += fmt::format(", {:.0f} % instead of {:g} %: at least one of each class",
                            100 * double(held_out) / double(all.size()), 100 * recipe.data.holdout);
    return text;
}

void hold_out_of(const Recipe& recipe, const std::optional<FilePlace>& known, TrainingData& data) {
    const double share = recipe.data.holdout;
    data.val_text = "none: nothing is held out";
    if (share == 0) return;
    const auto seed = std::uint64_t(recipe.train.seed);
    const Holdout parts =
        known ? read_holdout(data.train, *known) : hold_out(data.train, share, seed);
    if (parts.held_out->size() == 0) {
        data.val_text =
            fmt::format("none: {} {} are too few to hold {:g} % out", data.train->size(),
                        data.train->has_sentences() ? "sentence pairs" : "images", 100 * share);
        return;
    }
    data.held_out = true;
    data.val_text = holdout_text(parts, *data.train, recipe);
    data.train = parts.kept;
    data.val = parts.held_out;
}

// The classes of a run may be wrong, or those of the data: both are named.
DatasetPtr with_known_classes(const DatasetPtr& images, const KnownData& known) {
    try {
        return with_classes(images, known.classes);
    } catch (const Error& error) {
        throw Error(fmt::format("{}: classes: {}", known.source, error.what()));
    }
}

// Whether it holds sentences or images is known once it is open.
DatasetPtr open_for(const Recipe& recipe, const std::string& text, Split split) {
    DatasetPtr data = open_dataset(text, split);
    const bool wanted = translates(recipe);
    if (data->has_sentences() != wanted)
        throw Error(
            fmt::format("{}: expected {} for loss.name {}, found {}", text,
                        wanted ? "sentences with their translations (text:FOLDER)" : "images",
                        recipe.loss.name, wanted ? "images" : "sentences with their translations"));
    return data;
}

// By name: the validation data may lack a class, which must not shift the others.
DatasetPtr open_validation(const Recipe& recipe, const std::string& text, const Dataset& train) {
    DatasetPtr data = open_for(recipe, text, Split::val);
    if (!train.has_sentences()) return with_classes(data, train.classes());
    if (data->languages() != train.languages())
        throw Error(
            fmt::format("{}: expected sentences from {} to {}, as the training data has, "
                        "found {} to {}",
                        text, train.languages().first, train.languages().second,
                        data->languages().first, data->languages().second));
    return data;
}

}  // namespace

TrainingData open_training_data(const Recipe& recipe, const KnownData& known) {
    const DataPart& part = recipe.data;
    if (part.train.empty())
        throw UsageError("data.train: expected a data set, for example --data folder:images");
    TrainingData data;
    data.train = open_for(recipe, part.train, Split::train);
    if (!known.classes.empty()) data.train = with_known_classes(data.train, known);
    if (data.train->size() == 0)
        throw Error(fmt::format("{}: expected {}, found none", part.train,
                                translates(recipe) ? "sentences" : "images"));
    if (part.val == "none") {
        data.val_text = "none";
    } else if (!part.val.empty() || has_part(part.train, Split::val)) {
        data.val_text = part.val.empty() ? part.train : part.val;
        data.val = open_validation(recipe, data.val_text, *data.train);
        data.on_test = validates_on_test(data.val_text);
        if (data.on_test) data.val_text += ", its test part";
    } else {
        hold_out_of(recipe, known.holdout, data);
    }
    if (!part.token_labels.empty())
        data.maps = std::make_shared<LabelMaps>(part.token_labels, data.train);
    return data;
}

void choose_normalisation(const DataPart& part, const Dataset& train,
                          Preprocessing& preprocessing) {
    if (part.mean == "model") return;
    preprocessing.mean = kImageNetMean;
    preprocessing.std = kImageNetStd;
    if (part.mean == "imagenet") return;
    preprocessing.mean.fill(0.5F);
    preprocessing.std.fill(0.5F);
    if (part.mean == "half") return;
    if (part.mean != "data")
        throw UsageError(fmt::format(
            "data.mean: expected model, imagenet, half or data, found '{}'", part.mean));
    const std::size_t stride = (train.size() + kMeasuredImages - 1) / kMeasuredImages;
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < train.size(); i += stride) chosen.push_back(i);
    // A view without a deleter: the subset does not outlive this function.
    const DatasetPtr borrowed(DatasetPtr(), &train);
    const DatasetStatistics measured = statistics(*subset(borrowed, chosen));
    for (std::size_t c = 0; c < 3; ++c) {
        preprocessing.mean[c] = float(measured.mean[c]);
        preprocessing.std[c] = float(std::max(measured.std[c], 1e-3));
    }
}

Sampler training_sampler(const Recipe& recipe, const Dataset& train, const LoaderPlace& place) {
    const auto batch = std::size_t(recipe.data.batch);
    if (batch % place.world != 0)
        throw UsageError(fmt::format(
            "data.batch: expected a multiple of the {} processes, found {}", place.world, batch));
    const Deal deal = deal_of(recipe, place.rank, place.world);
    return Sampler({.size = train.size(),
                    .batch = batch / place.world,
                    .seed = std::uint64_t(recipe.train.seed),
                    .shuffle = true,
                    .rank = deal.rank,
                    .world = deal.world,
                    .pairs = deal.pairs,
                    .repeats = std::size_t(recipe.data.repeats),
                    .tail = recipe.data.last_batch == LastBatch::keep ? Tail::last : Tail::drop,
                    .stretches = train.stretches()});
}

TargetList training_targets(const Recipe& recipe, const TrainingData& data) {
    TargetList targets{target_of(recipe, *data.train, data.size)};
    if (data.maps)
        targets.push_back(label_map_target(data.maps, {data.tokens.height, data.tokens.width}));
    return targets;
}

namespace {

std::uint64_t epochs_of(const Recipe& recipe, const LoaderPlace& place) {
    return place.epochs > 0 ? place.epochs
                            : std::uint64_t(recipe.schedule.epochs + recipe.schedule.cooldown);
}

std::unique_ptr<BatchSource> sentence_loader(const Recipe& recipe, const SentenceData& sentences,
                                             const LoaderPlace& place) {
    TextLoaderOptions options = training_text(recipe, sentences, place.rank, place.world);
    options.start = place.start;
    options.epochs = epochs_of(recipe, place);
    return std::make_unique<TextLoader>(sentences.train, options);
}

}  // namespace

std::unique_ptr<BatchSource> training_loader(const Recipe& recipe, const TrainingData& data,
                                             const Preprocessing& preprocessing, ImageSize size,
                                             const LoaderPlace& place,
                                             std::function<void(const BadImage&)> report) {
    if (data.text) return sentence_loader(recipe, *data.text, place);
    TrainSettings settings =
        train_settings(recipe, size.height, size.width, preprocessing.mean, preprocessing.std);
    settings.shown = evaluation_transform(preprocessing, size);
    const Mixup mixup = mixup_settings(recipe);
    LoaderOptions options;
    options.height = size.height;
    options.width = size.width;
    options.threads = place.threads;
    options.start = place.start;
    options.epochs = epochs_of(recipe, place);
    options.max_bad = recipe.data.max_bad;
    options.report = std::move(report);
    if (mixup.active())
        options.mix = batch_mixing(recipe, mixup, size, deal_of(recipe, place.rank, place.world));
    options.targets = training_targets(recipe, data);
    Sampler sampler = training_sampler(recipe, *data.train, place);
    if (asks_for(recipe.loss, &ObjectiveTerm::pixels))
        return std::make_unique<Loader>(
            data.train, std::move(sampler),
            LabelledTransform([transform = SegmentationTransform(segmentation_settings(
                                   recipe, size, preprocessing.mean, preprocessing.std)),
                               workspace = SegmentationWorkspace()](
                                  const Image& image, const LabelImage& labels,
                                  const SampleKey& key, std::span<float> out) mutable {
                return transform.apply(image, labels, key, workspace, out);
            }),
            options);
    if (asks_for(recipe.loss, &ObjectiveTerm::objects))
        return std::make_unique<Loader>(
            data.train, std::move(sampler),
            FloatTransform([transform = DetectionTransform(detection_settings(
                                recipe, size, preprocessing.mean, preprocessing.std)),
                            workspace = DetectionWorkspace()](const Image& image,
                                                              const SampleKey& key,
                                                              std::span<float> out) mutable {
                return transform.apply(image, key, workspace, out);
            }),
            options);
    if (recipe.views.name != ViewsKind::none)
        return std::make_unique<Loader>(data.train, std::move(sampler),
                                        view_transform(recipe, settings), options);
    return std::make_unique<Loader>(
        data.train, std::move(sampler),
        FloatTransform([transform = TrainTransform(settings), workspace = TrainWorkspace()](
                           const Image& image, const SampleKey& key, std::span<float> out) mutable {
            return transform.apply(image, key, workspace, out);
        }),
        options);
}

}  // namespace cait
