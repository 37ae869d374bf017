#include "train/recipe/objective_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "cait/error.h"
#include "train/recipe/recipe_keys.h"

namespace cait {
namespace {

using testing::HasSubstr;

std::string beyond_labels_refusal(const std::function<void(Recipe&)>& change) {
    Recipe recipe;
    recipe.loss.name = "grafit";
    recipe.head = {.kind = HeadKind::mlp, .predictor = 16};
    recipe.views.name = ViewsKind::same;
    change(recipe);
    try {
        check_objective(recipe);
    } catch (const UsageError& error) {
        return error.what();
    }
    return "";
}

TEST(Objectives, WhatALossAsksFor) {
    struct Asks {
        std::string name;
        bool views, classifier, features;
    };
    const std::vector<Asks> all{
        {"cross_entropy", false, true, false}, {"bce", false, true, false},
        {"token_label", false, true, false},   {"multi_label", false, true, false},
        {"segment", false, true, false},       {"mask_rcnn", false, true, false},
        {"translate", false, true, false},     {"knn", false, false, true},
        {"instance", true, false, true},       {"grafit", true, false, true},
        {"ce_instance", true, true, true},     {"triplet", true, false, true},
        {"ce_triplet", true, true, true},      {"dino", true, false, true}};
    ASSERT_EQ(all.size(), objective_rows().size());
    for (const Asks& asks : all) {
        const LossPart loss{.name = asks.name};
        EXPECT_EQ(asks_for(loss, &ObjectiveTerm::views), asks.views) << asks.name;
        EXPECT_EQ(asks_for(loss, &ObjectiveTerm::classifier), asks.classifier) << asks.name;
        EXPECT_EQ(asks_for(loss, &ObjectiveTerm::features), asks.features) << asks.name;
    }
    EXPECT_THROW(terms_of("granite"), UsageError);
    Recipe recipe;
    EXPECT_EQ(task_of(recipe), Task());
    recipe.loss.name = "multi_label";
    recipe.loss.threshold = 0.25;
    EXPECT_EQ(task_of(recipe), (Task{"multi_label", 0.25}));
    EXPECT_FALSE(asks_for(recipe.loss, &ObjectiveTerm::accuracy));
}

TEST(Objectives, ADetectorsLossAsksForAHeadAndImagesThatAreNotMixed) {
    const auto refusal = [](const std::function<void(Recipe&)>& change) -> std::string {
        Recipe recipe;
        recipe.loss.name = "mask_rcnn";
        recipe.head.kind = HeadKind::mask_rcnn;
        change(recipe);
        try {
            check_loss(recipe);
            check_objective(recipe);
        } catch (const UsageError& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_EQ(refusal([](Recipe&) {}), "");
    EXPECT_THAT(refusal([](Recipe& r) { r.head.kind = HeadKind::upernet; }),
                HasSubstr("head.kind: expected mask_rcnn"));
    EXPECT_THAT(refusal([](Recipe& r) { r.loss.name = "cross_entropy"; }), HasSubstr("head.kind"));
    EXPECT_THAT(refusal([](Recipe& r) { r.augment.cutmix = 1; }),
                HasSubstr("as boxes are not mixed, with loss.name mask_rcnn"));
    EXPECT_THAT(refusal([](Recipe& r) { r.loss.class_weights = ClassWeights::root; }),
                HasSubstr("loss.class_weights"));
    EXPECT_THAT(refusal([](Recipe& r) { r.train.tune = Tune::attention; }),
                HasSubstr("train.tune"));
    EXPECT_THAT(refusal([](Recipe& r) {
                    r.augment.short_sides = {400, 500};
                    r.augment.short_side = 500;
                }),
                HasSubstr("augment.short_side: expected 0"));
    Recipe recipe;
    recipe.loss.name = "mask_rcnn";
    EXPECT_EQ(task_of(recipe).name, "detect");
    EXPECT_TRUE(asks_for(recipe.loss, &ObjectiveTerm::objects));
}

TEST(Objectives, ATranslatorsLossAsksForAModelAndDataOfSentences) {
    const auto refusal = [](const std::function<void(Recipe&)>& change) -> std::string {
        Recipe recipe;
        recipe.model.name = "resmlp_translate_small";
        recipe.loss.name = "translate";
        change(recipe);
        try {
            check_loss(recipe);
            check_objective(recipe);
        } catch (const UsageError& error) {
            return error.what();
        }
        return "";
    };
    EXPECT_EQ(refusal([](Recipe&) {}), "");
    EXPECT_EQ(refusal([](Recipe& r) { r.data.vocabulary = "model.safetensors"; }), "");
    EXPECT_THAT(refusal([](Recipe& r) { r.model.name = "resmlp_12_224"; }),
                HasSubstr("model.name: expected a model that translates"));
    EXPECT_THAT(refusal([](Recipe& r) { r.loss.name = "cross_entropy"; }),
                HasSubstr("loss.name: expected translate, as resmlp_translate_small"));
    EXPECT_THAT(refusal([](Recipe& r) { r.data.vocabulary = ""; }),
                HasSubstr("data.vocabulary: expected a number of pieces"));
    EXPECT_THAT(refusal([](Recipe& r) { r.data.vocabulary = "15"; }), HasSubstr("from 16 to"));
    EXPECT_THAT(refusal([](Recipe& r) { r.data.vocabulary = "99999999999999999999"; }),
                HasSubstr("from 16 to"));
    EXPECT_THAT(refusal([](Recipe& r) { r.augment.cutmix = 1; }), HasSubstr("augment.mixup"));
    EXPECT_THAT(refusal([](Recipe& r) { r.train.tune = Tune::head; }), HasSubstr("train.tune"));
    EXPECT_THAT(refusal([](Recipe& r) { r.head.kind = HeadKind::mlp; }), HasSubstr("head.kind"));
    EXPECT_THAT(refusal([](Recipe& r) { r.views.name = ViewsKind::same; }),
                HasSubstr("views.name"));
    Recipe recipe;
    recipe.data.batch = 32;
    recipe.data.pieces = 500;
    EXPECT_EQ(size_of_batch(recipe), 32);
    recipe.loss.name = "translate";
    EXPECT_EQ(size_of_batch(recipe), 500);
    EXPECT_EQ(task_of(recipe).name, "translate");
    EXPECT_EQ(pieces_to_learn("8000"), 8000);
    EXPECT_EQ(pieces_to_learn("8k"), std::nullopt);
    EXPECT_EQ(pieces_to_learn("-5"), std::nullopt);
}

TEST(Objectives, OnlyOneKindOfAverageIsKept) {
    Recipe recipe;
    recipe.save.best = "loss_ema";
    EXPECT_THROW(check(recipe), UsageError);
    recipe.save.average = 3;
    EXPECT_NO_THROW(check(recipe));
    recipe.train.ema = 0.9;
    EXPECT_THROW(check(recipe), UsageError);
}

TEST(Objectives, EveryRowIsMadeOfTermsThatThereAre) {
    for (const ObjectiveRow& row : objective_rows())
        for (const std::string_view name : row.terms)
            EXPECT_EQ(std::ranges::count(objective_terms(), name, &ObjectiveTerm::name), 1)
                << row.name << ": " << name;
}

TEST(Objectives, WhatMakesNoSenseIsRefused) {
    EXPECT_EQ(beyond_labels_refusal([](Recipe&) {}), "");
    EXPECT_THAT(beyond_labels_refusal([](Recipe& r) { r.loss.name = "cross_entropy"; }),
                HasSubstr("head.kind"));
    EXPECT_THAT(beyond_labels_refusal([](Recipe& r) { r.loss.name = "dino"; }),
                HasSubstr("head.kind"));
    EXPECT_THAT(beyond_labels_refusal([](Recipe& r) { r.head.kind = HeadKind::dino; }),
                HasSubstr("head.kind"));
    EXPECT_THAT(beyond_labels_refusal([](Recipe& r) { r.views.name = ViewsKind::none; }),
                HasSubstr("views.name"));
    EXPECT_THAT(beyond_labels_refusal([](Recipe& r) {
                    r.loss.name = "bce";
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

TEST(Objectives, ClustersAreJudgedByNeighboursLikeLossesWithoutAClassifier) {
    Recipe recipe;
    EXPECT_FALSE(judged_by_neighbours(recipe));
    recipe.clusters.count = 5;
    EXPECT_TRUE(judged_by_neighbours(recipe));
    recipe = {};
    recipe.loss.name = "knn";
    EXPECT_TRUE(judged_by_neighbours(recipe));
}

}  // namespace
}  // namespace cait
