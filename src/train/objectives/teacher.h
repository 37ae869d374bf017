// The model that a student learns from: loaded once, run on the student's own batches, frozen.
#pragma once

#include "train/torch/libtorch.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "cait/train.h"
#include "data/sampler.h"
#include "graph/graph.h"
#include "models/catalogue.h"
#include "models/executor.h"
#include "train/recipe/recipe.h"

namespace cait {

class Teacher {
public:
    // distill.teacher is a model file, or a name of the catalogue with distill.weights. Its classes
    // are brought to the student's order by name; where its file has no names, there have to be as
    // many. It is run at its own image size or at the student's, by distill.size, where the latter
    // fits it; positions are resized then. Throws Error, with both models' names, when a class of
    // `classes`, the student's, is missing or the channels differ. `given` says how the student's
    // images were normalised; without it, they are taken to be as the teacher wants.
    Teacher(const DistillPart& distill, const ModelSpec& student,
            Precision precision = Precision::fp32, at::Device device = at::kCPU,
            const std::optional<Preprocessing>& given = {},
            const std::vector<std::string>& classes = {});

    // images [B, C, H, W] as the student gets them → [B, K] float32, without a gradient. They are
    // resized (bicubic) and normalised again where the teacher expects something else.
    at::Tensor logits(const at::Tensor& images);

    // The same, and with distill.cache each sample of the data set is worked out once: for images
    // that never change.
    at::Tensor logits(const at::Tensor& images, std::span<const SampleKey> samples);

    struct TokenLabels {
        at::Tensor tokens;  // [B, N, K] probabilities at every place of the images
        at::Tensor images;  // [B, K] those of the mean of all places' logits
    };
    // For a student whose tokens lie in `grid`. With Distillation::tokens only.
    TokenLabels token_labels(const at::Tensor& images, Grid grid);

    const std::string& name() const { return name_; }
    // Its name, file, image size and what its images are normalised by.
    const std::string& description() const { return description_; }
    // How classes were matched and the size was chosen, where that is not as the files say.
    const std::vector<std::string>& notes() const { return notes_; }
    std::size_t cached() const { return cache_.size(); }

private:
    Model load_for(const DistillPart& distill, const CommonConfig& pupil);
    at::Tensor prepared(const at::Tensor& images) const;
    // What the network answers to prepared images, on their device.
    at::Tensor run(const at::Tensor& images, const std::string& tap) const;
    void match_classes(const Model& model, const ModelSpec& student,
                       const std::vector<std::string>& classes, at::Device device);
    // Values per class in the student's order; the last dimension are the classes.
    at::Tensor as_student(const at::Tensor& values) const;

    std::string name_, description_;
    std::vector<std::string> notes_;
    at::Tensor order_;  // [K] of the teacher's classes; undefined: the student's order
    std::unique_ptr<Executor> executor_;  // the engine on a CPU, LibTorch elsewhere
    Grid grid_;                           // of its tokens
    ImageSize size_;
    at::Tensor gain_, offset_;  // [C, 1, 1]; undefined: the normalisation is the same
    double temperature_;
    bool caches_;
    std::unordered_map<std::uint64_t, at::Tensor> cache_;  // [K] on the CPU
};

}  // namespace cait
