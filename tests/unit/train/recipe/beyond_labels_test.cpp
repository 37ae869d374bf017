#include "train/recipe/beyond_labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "cait/error.h"
#include "train/recipe/recipe_keys.h"

namespace cait {
namespace {

using testing::HasSubstr;

std::string beyond_labels_refusal(const std::function<void(Recipe&)>& change) {
    Recipe recipe;
    recipe.loss.name = LossKind::grafit;
    recipe.head = {.kind = HeadKind::mlp, .predictor = 16};
    recipe.views.name = ViewsKind::same;
    change(recipe);
    try {
        check_beyond_labels(recipe);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "";
}

TEST(BeyondLabels, WhatALossAsksFor) {
    struct Asks {
        LossKind kind;
        bool views, classifier, target, memory;
    };
    for (const Asks& asks : {Asks{LossKind::cross_entropy, false, true, false, false},
                             Asks{LossKind::token_label, false, true, false, false},
                             Asks{LossKind::knn, false, false, false, true},
                             Asks{LossKind::instance, true, false, true, false},
                             Asks{LossKind::grafit, true, false, true, true},
                             Asks{LossKind::ce_instance, true, true, true, false},
                             Asks{LossKind::triplet, true, false, false, false},
                             Asks{LossKind::ce_triplet, true, true, false, false},
                             Asks{LossKind::dino, true, false, true, false}}) {
        EXPECT_EQ(compares_views(asks.kind), asks.views) << int(asks.kind);
        EXPECT_EQ(has_classifier(asks.kind), asks.classifier) << int(asks.kind);
        EXPECT_EQ(has_target(asks.kind), asks.target) << int(asks.kind);
        EXPECT_EQ(has_memory(asks.kind), asks.memory) << int(asks.kind);
    }
}

TEST(BeyondLabels, WhatMakesNoSenseIsRefused) {
    EXPECT_EQ(beyond_labels_refusal([](Recipe&) {}), "");
    EXPECT_THAT(beyond_labels_refusal([](Recipe& r) { r.loss.name = LossKind::cross_entropy; }),
                HasSubstr("head.kind"));
    EXPECT_THAT(beyond_labels_refusal([](Recipe& r) { r.loss.name = LossKind::dino; }),
                HasSubstr("head.kind"));
    EXPECT_THAT(beyond_labels_refusal([](Recipe& r) { r.head.kind = HeadKind::dino; }),
                HasSubstr("head.kind"));
    EXPECT_THAT(beyond_labels_refusal([](Recipe& r) { r.views.name = ViewsKind::none; }),
                HasSubstr("views.name"));
    EXPECT_THAT(beyond_labels_refusal([](Recipe& r) {
                    r.loss.name = LossKind::bce;
                    r.head = {};
                }),
                HasSubstr("views.name"));
    EXPECT_THAT(beyond_labels_refusal([](Recipe& r) { r.augment.mixup = 0.8; }),
                HasSubstr("augment.mixup"));
    EXPECT_THAT(beyond_labels_refusal([](Recipe& r) { r.distill.kind = Distillation::hard; }),
                HasSubstr("distill.kind"));
    EXPECT_THAT(beyond_labels_refusal([](Recipe& r) { r.train.tune = Tune::head; }),
                HasSubstr("train.tune"));
    EXPECT_THAT(beyond_labels_refusal([](Recipe& r) { r.train.mode = "eval"; }),
                HasSubstr("train.mode"));
    EXPECT_THAT(beyond_labels_refusal([](Recipe& r) {
                    r.head = {};
                    r.eval.features = "projection";
                }),
                HasSubstr("eval.features"));
    EXPECT_THAT(beyond_labels_refusal([](Recipe& r) {
                    r.head.kind = HeadKind::none;
                    r.save.head = true;
                }),
                HasSubstr("save.head"));
    EXPECT_THAT(beyond_labels_refusal([](Recipe& r) {
                    r.clusters.count = 10;
                    r.clusters.weights = "model.safetensors";
                }),
                HasSubstr("clusters.count"));
    EXPECT_THAT(beyond_labels_refusal([](Recipe& r) { r.clusters.count = 10; }),
                HasSubstr("clusters.weights"));
}

TEST(BeyondLabels, ClustersAreJudgedByNeighboursLikeLossesWithoutAClassifier) {
    Recipe recipe;
    EXPECT_FALSE(judged_by_neighbours(recipe));
    recipe.clusters.count = 5;
    EXPECT_TRUE(judged_by_neighbours(recipe));
    recipe = {};
    recipe.loss.name = LossKind::knn;
    EXPECT_TRUE(judged_by_neighbours(recipe));
}

}  // namespace
}  // namespace cait
