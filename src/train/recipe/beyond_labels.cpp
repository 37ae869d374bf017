#include "train/recipe/beyond_labels.h"

#include <fmt/format.h>

#include "cait/error.h"
#include "train/recipe/bind_values.h"

namespace cait {

namespace {

constexpr double kLongestQueue = 1e6;  // epochs

void bind_target(Settings& s, TargetPart& p) {
    s.number("target.momentum", p.momentum, 0, 1,
             "how much of itself the target network keeps in a step");
    s.number("target.momentum_end", p.momentum_end, 0, 1, "cosine: the same at the end of the run");
    s.choice("target.schedule", p.schedule,
             {{"cosine", ScheduleKind::cosine}, {"constant", ScheduleKind::constant}},
             "how that moves");
}

void bind_memory(Settings& s, MemoryPart& p) {
    s.number("memory.sigma", p.sigma, 1e-3, 100,
             "knn, grafit: temperature by which neighbours count");
    s.number("memory.momentum", p.momentum, 0, 1,
             "knn, grafit: share of its remembered vector that an image keeps when it is seen");
}

void bind_clusters(Settings& s, ClusterPart& p) {
    s.integer("clusters.count", p.count, 0,
              "ClusterFit+: labels are so many clusters of another model's features; 0: the data's "
              "own");
    bind_text(s, "clusters.weights", p.weights, "the file of that model");
    s.integer("clusters.rounds", p.rounds, 1, "of k-means, at most", 10'000);
}

void bind_dino(Settings& s, DinoPart& p) {
    s.number("dino.student_temperature", p.student_temperature, 1e-3, 100,
             "divides what the student says");
    s.number("dino.teacher_temperature", p.teacher_temperature, 1e-3, 100,
             "divides what the teacher says, after the warm-up");
    s.number("dino.teacher_start", p.teacher_start, 1e-3, 100, "the same in the first epoch");
    s.number("dino.teacher_warmup", p.teacher_warmup, 0, kLongestQueue,
             "epochs from the one to the other");
    s.number("dino.centre_momentum", p.centre_momentum, 0, 1,
             "how much of itself the centre of the teacher's outputs keeps in a step");
    s.number("dino.freeze_last", p.freeze_last, 0, kLongestQueue,
             "epochs in which the last layer of the head does not learn");
}

}  // namespace

bool beyond_labels(LossKind kind) { return kind >= LossKind::knn; }

bool compares_views(LossKind kind) { return beyond_labels(kind) && kind != LossKind::knn; }

bool has_classifier(LossKind kind) {
    return !beyond_labels(kind) || kind == LossKind::ce_instance || kind == LossKind::ce_triplet;
}

bool has_target(LossKind kind) {
    return kind == LossKind::instance || kind == LossKind::grafit ||
           kind == LossKind::ce_instance || kind == LossKind::dino;
}

bool has_memory(LossKind kind) { return kind == LossKind::knn || kind == LossKind::grafit; }

bool judged_by_neighbours(const Recipe& recipe) {
    return !has_classifier(recipe.loss.name) || recipe.clusters.count > 0;
}

void bind_beyond_labels(Settings& s, Recipe& recipe) {
    s.number("loss.view_weight", recipe.loss.view_weight, 0, 1000,
             "grafit, ce_instance, ce_triplet: weight of the term that compares views");
    s.number("loss.margin", recipe.loss.margin, 0, 4,
             "triplet, ce_triplet: how much nearer, in squared distance of unit vectors");
    bind(s, recipe.head);
    bind_target(s, recipe.target);
    bind_memory(s, recipe.memory);
    bind_dino(s, recipe.dino);
    bind_clusters(s, recipe.clusters);
}

void bind_neighbours(Settings& s, EvalPart& eval) {
    s.integer("eval.neighbours", eval.neighbours, 1,
              "where the class head does not learn: validation images are classified by so many "
              "of the training images",
              100'000);
    s.word("eval.features", eval.features, {"trunk", "projection"},
           "that these neighbours are found by");
}

void check_beyond_labels(const Recipe& recipe) {
    const LossKind kind = recipe.loss.name;
    require((recipe.clusters.count > 0) == !recipe.clusters.weights.empty(), "clusters.weights",
            "a model file with clusters.count above 0, and none without");
    require(recipe.clusters.count == 0 || has_classifier(kind), "clusters.count",
            "a loss.name with a classifier, or 0");
    require(recipe.head.classifier == 0 || has_classifier(kind), "head.classifier",
            "a loss.name with a classifier, or 0");
    require(recipe.head.classifier == 0 || recipe.train.tune == Tune::all, "head.classifier",
            "0 unless train.tune is all");
    if (!beyond_labels(kind)) {
        require(!recipe.head.any(), "head.kind",
                "a loss that uses a head, such as loss.name grafit, or none");
        require(recipe.views.name == ViewsKind::none, "views.name",
                "a loss that uses several views, such as loss.name grafit, or none");
        return;
    }
    require((kind == LossKind::dino) == (recipe.head.kind == HeadKind::dino), "head.kind",
            "dino with loss.name dino, and with no other");
    require(kind != LossKind::dino || recipe.head.predictor == 0, "head.predictor",
            "0 with loss.name dino");
    require(
        recipe.augment.mixup == 0 && recipe.augment.cutmix == 0 && recipe.augment.mix_tokens == 0,
        "augment.mixup",
        "0, and augment.cutmix and augment.mix_tokens 0, as views are of single images");
    require(!compares_views(kind) || recipe.views.name != ViewsKind::none, "views.name",
            "same or multi-crop, as the loss compares views of an image; found none");
    require(recipe.distill.kind == Distillation::none, "distill.kind", "none with this loss.name");
    require(!recipe.loss.cosub, "loss.cosub", "false with this loss.name");
    require(recipe.train.tune == Tune::all, "train.tune", "all with this loss.name");
    require(recipe.train.mode == "train", "train.mode", "train with this loss.name");
    require(recipe.eval.features == "trunk" || recipe.head.any(), "eval.features",
            "trunk, as there is no projector; found projection");
    require(recipe.eval.features == "trunk" || kind != LossKind::dino, "eval.features",
            "trunk with loss.name dino, whose head has no features");
    require(!recipe.save.head || recipe.head.kind != HeadKind::none, "save.head",
            "a projector to save; found head.kind none");
}

}  // namespace cait
