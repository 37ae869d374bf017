// Small runs beyond labels, whose views are fed as a loader would hand them out.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "data/targets/label_image.h"
#include "data/targets/labels.h"
#include "data/targets/objects.h"
#include "models/catalogue.h"
#include "support/small_models.h"
#include "support/tiny_detector.h"
#include "train/recipe/objective_rows.h"
#include "train/torch/convert.h"
#include "train/training_step.h"

namespace cait::test {

inline constexpr std::int64_t kTrainImages = 24, kClasses = 3;

inline SettingList head_settings(HeadConfig head) {
    Settings keys;
    bind(keys, head);
    return keys.values();
}

inline Recipe view_recipe(const std::string& kind) {
    Recipe recipe;
    recipe.loss.name = kind;
    recipe.model.name = "deit_tiny_patch16_224";
    recipe.optim.weight_decay = 0.01;
    if (kind == "dino") {
        recipe.head = {.kind = HeadKind::dino, .hidden = 16, .outputs = 20, .bottleneck = 8};
        recipe.dino.freeze_last = 1;
        recipe.optim.clip = ClipKind::param;
    } else if (kind == "segment") {
        recipe.head.kind = HeadKind::linear_map;
        recipe.head.dense.classes = kClasses;
    } else if (kind == "mask_rcnn") {
        recipe.head.kind = HeadKind::mask_rcnn;
        recipe.model.name = tiny_detector_preset();
        recipe.detect = {.anchors = 64, .proposals = 200, .regions = 48};
        recipe.train.frozen_norms = true;
        recipe.optim.name = OptimizerKind::sgd;
    } else if (asks_for(recipe.loss, &ObjectiveTerm::features) && kind != "triplet" &&
               kind != "ce_triplet") {
        recipe.head = {.kind = HeadKind::mlp, .hidden = 12, .outputs = 8, .predictor = 10};
        recipe.optim.name = OptimizerKind::sgd;
    }
    recipe.target.momentum = 0.9;
    recipe.memory.sigma = 0.1;
    return recipe;
}

inline Model view_model(const Recipe& recipe, double drop_path = 0) {
    if (recipe.loss.name == "mask_rcnn") return tiny_detector();
    const SettingList settings{{"image_size", "32"},
                               {"patch", "8"},
                               {"dim", "16"},
                               {"depth", "2"},
                               {"heads", "2"},
                               {"classes", std::to_string(kClasses)},
                               {"drop_path", std::to_string(drop_path)}};
    // Fresh tokens are so small that their norms would blow rounding errors up.
    const Model model =
        Model::create(recipe.model.name, settings, 3).with_head(head_settings(recipe.head), 3);
    return model.with_weights(lively_weights(record(model.spec())));
}

inline std::vector<std::int64_t> train_labels() {
    std::vector<std::int64_t> labels;
    for (std::int64_t i = 0; i < kTrainImages; ++i) labels.push_back(i % kClasses);
    return labels;
}

// Ready to run.
inline std::unique_ptr<TrainingStep> view_step(const Recipe& recipe, ProcessGroup& group,
                                               double drop_path = 0) {
    return std::make_unique<TrainingStep>(recipe, view_model(recipe, drop_path), group,
                                          DataFacts{.labels = train_labels()});
}

// Of image i: a box with its mask, twice as many in every other image, none in every third.
inline void add_objects(std::span<const std::int64_t> labels, std::int64_t side, Targets& targets) {
    constexpr std::int64_t kMost = 2;
    std::vector<float> table;
    std::vector<std::vector<std::int32_t>> runs;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        std::vector<std::int32_t>& row = runs.emplace_back();
        for (std::int64_t o = 0; o < kMost; ++o) {
            const bool there = labels[i] != 2 && (o == 0 || labels[i] == 1);
            const std::int64_t left = 4 + 20 * o, top = 8 + 3 * labels[i], size = 24 + 4 * o;
            for (const std::int64_t number : {left, top, left + size, top + size, labels[i], 0L})
                table.push_back(there ? float(number) : -1);
            if (!there) continue;
            std::vector<std::uint8_t> pixels(std::size_t(side * side), 0);
            for (std::int64_t y = top; y < top + size / 2; ++y)
                for (std::int64_t x = left; x < left + size; ++x)
                    pixels[std::size_t(y * side + x)] = 1;
            const RunMask mask = run_mask(pixels, side, side);
            row.push_back(std::int32_t(mask.runs.size()));
            row.insert(row.end(), mask.runs.begin(), mask.runs.end());
        }
    }
    std::size_t longest = 1;
    for (const auto& row : runs) longest = std::max(longest, row.size());
    const auto images = std::int64_t(labels.size());
    Tensor masks = Tensor::empty(DType::i32, {images, std::int64_t(longest)});
    auto* out = reinterpret_cast<std::int32_t*>(masks.mutable_bytes().data());
    for (auto& row : runs) {
        row.resize(longest, -1);
        out = std::ranges::copy(row, out).out;
    }
    targets[kObjects] = Tensor::of({images, kMost, 6}, table);
    targets[kObjectMasks] = std::move(masks);
    targets[kShownSizes] =
        Tensor::of({images, 2}, std::vector<std::int64_t>(std::size_t(2 * images), side));
}

// Step `step` of a run with `images` in a batch: of these, the share of one process.
inline Batch view_batch(const std::string& kind, std::uint64_t step, std::int64_t images,
                        int rank = 0, int world = 1) {
    Batch batch;
    batch.size = std::size_t(images / world);
    batch.position.epoch = step / 4;
    std::vector<std::int64_t> labels;
    for (std::int64_t i = rank; i < images; i += world) {
        // Every other step sees an image twice.
        const std::int64_t image =
            (std::int64_t(step) * 5 + (step % 2 == 0 && i == 1 ? 0 : i)) % kTrainImages;
        batch.keys.push_back({.sample = std::uint64_t(image)});
        labels.push_back(image % kClasses);
    }
    batch.targets[kLabels] = Tensor::of({std::int64_t(batch.size)}, labels);
    // Of several classes: all but that one.
    std::vector<float> sets;
    for (const std::int64_t label : labels)
        for (std::int64_t c = 0; c < kClasses; ++c) sets.push_back(c == label ? 0.0F : 1.0F);
    batch.targets[kLabelSets] = Tensor::of({std::int64_t(batch.size), kClasses}, sets);
    // Of every pixel: that one in the upper half, nothing known below.
    Tensor pixels = Tensor::empty(DType::u8, {std::int64_t(batch.size), 32, 32});
    for (std::size_t i = 0; i < pixels.mutable_bytes().size(); ++i)
        pixels.mutable_bytes()[i] =
            std::byte(i % 1024 < 512 ? std::uint8_t(labels[i / 1024]) : kIgnored);
    batch.targets[kLabelImages] = std::move(pixels);
    const auto add = [&](std::int64_t count, std::int64_t side) {
        ViewGroup group{.count = count, .height = side, .width = side, .pixels = {}};
        for (std::int64_t v = 0; v < count; ++v)
            for (std::int64_t i = rank; i < images; i += world) {
                RandomStream random(step, std::uint64_t((v * images + i) * 1000 + side));
                for (std::int64_t p = 0; p < 3 * side * side; ++p)
                    group.pixels.push_back(3 * random.uniform() - 1.5F);
            }
        batch.views.push_back(std::move(group));
    };
    if (kind == "mask_rcnn") {
        constexpr std::int64_t kDetectorSide = 64;
        add_objects(labels, kDetectorSide, batch.targets);
        add(1, kDetectorSide);
        return batch;
    }
    add(kind == "dino" ? 2 : 3, 32);
    if (kind == "dino") add(3, 16);
    return batch;
}

inline std::map<std::string, Tensor> state_of(TrainingStep& step) {
    step.gather_state();
    std::map<std::string, Tensor> copies;
    for (const auto& [name, tensor] : step.state())
        copies.emplace(name, share_torch(to_torch(tensor).clone()));
    return copies;
}

}  // namespace cait::test
