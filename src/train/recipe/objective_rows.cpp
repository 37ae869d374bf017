#include "train/recipe/objective_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "cait/error.h"
#include "data/sentences/vocabulary.h"
#include "data/targets/label.h"
#include "data/targets/label_image.h"
#include "data/targets/labels.h"
#include "data/targets/objects.h"
#include "models/catalogue.h"
#include "models/task.h"
#include "train/recipe/bind_values.h"
#include "train/recipe/model_settings.h"
#include "train/recipe/recipe_data.h"

namespace cait {

namespace {

constexpr double kLongestQueue = 1e6;       // epochs
constexpr std::int64_t kFewestPieces = 16;  // of a vocabulary that is learned

bool has_term(const LossPart& loss, std::string_view name) {
    return std::ranges::any_of(terms_of(loss.name),
                               [name](const ObjectiveTerm* term) { return term->name == name; });
}

// Keys that the term alone reads.
void read_by_term(Settings& s, const std::vector<std::string>& keys, const LossPart& loss,
                  std::string_view name) {
    std::vector<std::string_view> losses;
    for (const ObjectiveRow& row : objective_rows())
        if (std::ranges::find(row.terms, name) != row.terms.end()) losses.push_back(row.name);
    s.read_if(
        keys, [&loss, name] { return has_term(loss, name); },
        fmt::format("loss.name {}", fmt::join(losses, " or ")));
}

void bind_labels(Settings& s, LossPart& p) {
    s.number("loss.smoothing", p.smoothing, 0, 1,
             "share of a label that is spread over all classes; translate: over all other pieces");
    s.number("loss.bce_threshold", p.bce_threshold, -1, 1,
             "bce: targets above it count as 1; below 0: kept soft");
    s.flag("loss.cosub", p.cosub, "two submodels, drawn by stochastic depth, teach each other");
    s.number("loss.token_weight", p.token_weight, 0, 100,
             "token_label: weight of the tokens' term");
    s.choice(
        "loss.class_target", p.class_target,
        {{"map", ClassTarget::map}, {"blend", ClassTarget::blend}, {"label", ClassTarget::label}},
        "token_label, where a map or a teacher labels the tokens: the class head learns what "
        "that says of the whole image, both that and the label (VOLO's --ground-truth), or "
        "the label");
    s.choice("loss.class_weights", p.class_weights,
             {{"none", ClassWeights::none},
              {"inverse", ClassWeights::inverse},
              {"root", ClassWeights::root}},
             "for classes of unequal size: each counts by the inverse of its share of the images, "
             "or of segment the labelled pixels, or by the root of that");
}

void bind_instance(Settings& s, LossPart& p) {
    s.number("loss.view_weight", p.view_weight, 0, 1000,
             "grafit, ce_instance, ce_triplet: weight of the term that compares views");
}

void bind_triplet(Settings& s, LossPart& p) {
    s.number("loss.margin", p.margin, 0, 4,
             "triplet, ce_triplet: how much nearer, in squared distance of unit vectors");
    read_by_term(s, {"loss.margin"}, p, "triplet");
}

void bind_target(Settings& s, TargetPart& p) {
    s.number("target.momentum", p.momentum, 0, 1,
             "how much of itself the target network keeps in a step");
    s.number("target.momentum_end", p.momentum_end, 0, 1, "cosine: the same at the end of the run");
    s.choice("target.schedule", p.schedule,
             {{"cosine", ScheduleKind::cosine}, {"constant", ScheduleKind::constant}},
             "how that moves");
}

void bind_memory(Settings& s, Recipe& recipe) {
    MemoryPart& p = recipe.memory;
    s.number("memory.sigma", p.sigma, 1e-3, 100,
             "knn, grafit: temperature by which neighbours count");
    s.number("memory.momentum", p.momentum, 0, 1,
             "knn, grafit: share of its remembered vector that an image keeps when it is seen");
    read_by_term(s, {"memory.momentum"}, recipe.loss, "knn");
    // Neighbours that judge features vote by it, too (neighbour_judging.cpp).
    s.read_if(
        {"memory.sigma"},
        [&recipe] {
            const auto votes = [](const ObjectiveTerm* term) { return term->vote_temperature > 0; };
            return has_term(recipe.loss, "knn") ||
                   (judged_by_neighbours(recipe) &&
                    std::ranges::none_of(terms_of(recipe.loss.name), votes));
        },
        "a loss.name that remembers or asks neighbours");
}

void bind_clusters(Settings& s, ClusterPart& p) {
    s.integer("clusters.count", p.count, 0,
              "ClusterFit+: labels are clusters of another model's features, this number of them; "
              "0: the data's own");
    bind_text(s, "clusters.weights", p.weights, "the file of that model");
    s.integer("clusters.rounds", p.rounds, 1, "of k-means, at most", 10'000);
}

void bind_dino(Settings& s, Recipe& recipe) {
    DinoPart& p = recipe.dino;
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
    read_by_term(s,
                 {"dino.student_temperature", "dino.teacher_temperature", "dino.teacher_start",
                  "dino.teacher_warmup", "dino.centre_momentum", "dino.freeze_last"},
                 recipe.loss, "dino");
    s.read_if(
        {"dino.teacher_start"}, [&p] { return p.teacher_warmup > 0; },
        "dino.teacher_warmup above 0");
}

void bind_multi_label(Settings& s, LossPart& p) {
    s.number("loss.threshold", p.threshold, 0, 1,
             "multi_label: probability from which a class counts as present; the model file keeps "
             "it");
    read_by_term(s, {"loss.threshold"}, p, "multi_label");
}

TargetPtr one_label(const Recipe& recipe, const Dataset& train) {
    require_one_label(
        train, fmt::format("loss.name {} (multi_label learns from any number)", recipe.loss.name));
    std::optional<SoftLabels> soft;
    if (mixup_settings(recipe).active())
        soft = soft_labels(recipe, std::int64_t(train.classes().size()));
    return label_target(soft);
}

TargetPtr several_labels(const Recipe& /*recipe*/, const Dataset& train, ImageSize /*size*/) {
    return labels_target(std::int64_t(train.classes().size()));
}

Task several_classes(const Recipe& recipe) {
    return {std::string(kMultiLabel), recipe.loss.threshold};
}

void check_multi_label(const Recipe& recipe) {
    require(recipe.loss.smoothing == 0, "loss.smoothing", "0 with loss.name multi_label");
    require(recipe.distill.kind == Distillation::none, "distill.kind",
            "none with loss.name multi_label");
    require(recipe.clusters.count == 0, "clusters.count", "0 with loss.name multi_label");
}

void bind_segment(Settings& s, LossPart& p) {
    s.number("loss.auxiliary_weight", p.auxiliary_weight, 0, 100,
             "segment: weight of the second head's term");
    s.choice("loss.pixel_mean", p.pixel_mean,
             {{"all", PixelMean::all}, {"labelled", PixelMean::labelled}},
             "segment: the sum over labelled pixels is divided by the number of all pixels, as in "
             "mmsegmentation, or of the labelled ones");
    read_by_term(s, {"loss.auxiliary_weight", "loss.pixel_mean"}, p, "segment");
}

TargetPtr pixel_labels(const Recipe& /*recipe*/, const Dataset& train, ImageSize size) {
    if (!train.has_label_images())
        throw Error(
            fmt::format("{}: expected data with a label image for each image for loss.name "
                        "segment, such as segmentation:FOLDER",
                        train.source()));
    return label_image_target(size);
}

Task pixel_classes(const Recipe& /*recipe*/) { return {.name = std::string(kSegment)}; }

// Of losses of places in an image. `unmixed`: what is not mixed there.
void check_places(const Recipe& recipe, std::string_view unmixed) {
    const auto needs = [&](bool holds, std::string_view key, std::string_view rule) {
        require(holds, key, fmt::format("{} with loss.name {}", rule, recipe.loss.name));
    };
    needs(recipe.loss.smoothing == 0, "loss.smoothing", "0");
    needs(!mixes(recipe.augment), "augment.mixup",
          fmt::format("0, and augment.cutmix and augment.mix_tokens 0, as {} are not mixed,",
                      unmixed));
    needs(recipe.views.name == ViewsKind::none, "views.name", "none");
    needs(recipe.distill.kind == Distillation::none, "distill.kind", "none");
    needs(recipe.clusters.count == 0, "clusters.count", "0");
    needs(recipe.train.tune != Tune::attention, "train.tune", "all or head");
    const AugmentPart& a = recipe.augment;
    require(a.long_side == 0 || a.short_side <= a.long_side, "augment.long_side",
            fmt::format("at least augment.short_side {}, found {}", a.short_side, a.long_side));
}

void check_segment(const Recipe& recipe) {
    check_places(recipe, "label images");
    require(recipe.head.is_dense() || recipe.head.kind == HeadKind::linear, "head.kind",
            "upernet or linear_map (also called linear) with loss.name segment");
}

void bind_detect(Settings& s, Recipe& recipe) {
    DetectPart& p = recipe.detect;
    s.integer("detect.anchors", p.anchors, 1,
              "anchors of an image that the first stage learns from", 1'000'000);
    s.number("detect.anchor_positives", p.anchor_positives, 0, 1,
             "share of them at most that show an object");
    s.integer("detect.proposals", p.proposals, 1,
              "of the first stage, from which regions are drawn", 10'000);
    s.integer("detect.regions", p.regions, 1, "of an image, that the second stage learns from",
              10'000);
    s.number("detect.region_positives", p.region_positives, 0, 1,
             "share of them at most that show an object; masks are learned from these");
    s.number("detect.rpn_weight", p.rpn_weight, 0, 1000, "of both terms of the first stage");
    s.number("detect.box_weight", p.box_weight, 0, 1000,
             "of both terms of the second stage, classes and boxes");
    s.number("detect.mask_weight", p.mask_weight, 0, 1000, "of the term of masks");
    read_by_term(
        s,
        {"detect.anchors", "detect.anchor_positives", "detect.proposals", "detect.regions",
         "detect.region_positives", "detect.rpn_weight", "detect.box_weight", "detect.mask_weight"},
        recipe.loss, "mask_rcnn");
    s.read_if(
        {"detect.mask_weight"}, [&recipe] { return recipe.head.detection.masks; },
        "head.masks=true");
}

TargetPtr boxes_and_masks(const Recipe& recipe, const Dataset& train, ImageSize size) {
    const bool masks = recipe.head.detection.masks;
    if (!train.has_objects())
        throw Error(
            fmt::format("{}: expected data with boxes for loss.name mask_rcnn, such as "
                        "coco:ANNOTATIONS.json",
                        train.source()));
    if (masks && !train.has_object_masks())
        throw Error(fmt::format(
            "{}: expected data with a mask for each object for loss.name mask_rcnn, found boxes "
            "alone; head.masks=false learns from these",
            train.source()));
    return objects_target(size, masks);
}

Task boxes_of_classes(const Recipe& /*recipe*/) {
    return {.name = std::string(kDetect), .threshold = kLeastScore};
}

void check_mask_rcnn(const Recipe& recipe) {
    check_places(recipe, "boxes");
    require(recipe.head.is_detector(), "head.kind", "mask_rcnn with loss.name mask_rcnn");
    require(recipe.head.detection.masks || !recipe.save.best.starts_with("mask_"), "save.best",
            fmt::format("a score of boxes with head.masks=false, found {}", recipe.save.best));
    require(recipe.augment.short_sides.empty() || recipe.augment.short_side == 0,
            "augment.short_side",
            fmt::format("0 with augment.short_sides, found {}", recipe.augment.short_side));
}

Task another_language(const Recipe& /*recipe*/) { return {.name = std::string(kTranslate)}; }

// Sentences are neither mixed nor drawn, and all of a translator learns.
void check_translate(const Recipe& recipe) {
    const auto only = [&](bool holds, std::string_view key, const std::string& value) {
        require(holds, key, value + " with loss.name translate");
    };
    only(takes_text(configure(recipe.model.name)), "model.name",
         fmt::format("a model that translates, such as resmlp_translate_small, found {}",
                     recipe.model.name));
    only(!mixes(recipe.augment), "augment.mixup",
         "0, and augment.cutmix and augment.mix_tokens 0, as sentences are not mixed,");
    only(recipe.distill.kind == Distillation::none, "distill.kind", "none");
    only(recipe.model.scales.empty(), "model.scales", "nothing");
    only(recipe.clusters.count == 0, "clusters.count", "0");
    only(recipe.train.tune == Tune::all, "train.tune", "all");
    only(recipe.train.mode == "train", "train.mode", "train");
    only(recipe.train.quantize == "none", "train.quantize", "none");
    only(!recipe.train.frozen_norms, "train.frozen_norms", "false");
    const std::string& vocabulary = recipe.data.vocabulary;
    const std::optional<std::int64_t> size = pieces_to_learn(vocabulary);
    require(!vocabulary.empty() && (!size || (*size >= kFewestPieces && *size <= kMostPieces)),
            "data.vocabulary",
            fmt::format("a number of pieces from {} to {} or a file, found '{}'", kFewestPieces,
                        kMostPieces, vocabulary));
}

void check_bce(const Recipe& recipe) {
    const LossPart& loss = recipe.loss;
    // The smallest target is smoothing / classes, which lies above a threshold of 0.
    require(loss.bce_threshold != 0 || loss.smoothing == 0, "loss.smoothing",
            fmt::format("0, as with loss.bce_threshold 0 every class would count as present, "
                        "found {}",
                        loss.smoothing));
}

void check_token_label(const Recipe& recipe) {
    const SettingList settings = model_settings(recipe.model.name, recipe.model.settings);
    const auto head = std::ranges::find(settings, "aux_head", &SettingList::value_type::first);
    require(head != settings.end() && head->second == "true", "loss.name",
            fmt::format("a model with a head for tokens (VOLO with model.aux_head) for "
                        "token_label, found {}",
                        recipe.model.name));
}

void check_dino(const Recipe& recipe) {
    require(recipe.head.predictor == 0, "head.predictor", "0 with loss.name dino");
    require(recipe.eval.features == "trunk", "eval.features",
            "trunk with loss.name dino, whose head has no features");
}

// Keys that only one loss reads would be silently ignored with another.
void check_label_keys(const Recipe& recipe) {
    const LossPart& loss = recipe.loss;
    const bool tokens = loss.name == "token_label";
    require(!loss.cosub || loss.name == "bce", "loss.cosub", "loss.name bce");
    require(loss.class_weights == ClassWeights::none || loss.name == "cross_entropy" ||
                loss.name == "segment",
            "loss.class_weights", "loss.name cross_entropy or segment, or none");
    require(recipe.augment.mix_tokens == 0 || tokens, "augment.mix_tokens",
            "loss.name token_label, or 0");
    require(recipe.distill.kind != Distillation::tokens || tokens, "distill.kind",
            "loss.name token_label for tokens");
    if (recipe.data.token_labels.empty()) return;
    require(tokens, "data.token_labels", "loss.name token_label");
    require(recipe.distill.kind != Distillation::tokens, "data.token_labels",
            "no teacher that labels tokens, too; found distill.kind tokens");
    require(recipe.augment.mixup == 0 && recipe.augment.cutmix == 0, "data.token_labels",
            "augment.mixup 0 and augment.cutmix 0, as maps are of single images");
}

void check_clusters(const Recipe& recipe) {
    const bool classifier = asks_for(recipe.loss, &ObjectiveTerm::classifier);
    require((recipe.clusters.count > 0) == !recipe.clusters.weights.empty(), "clusters.weights",
            "a model file with clusters.count above 0, and none without");
    require(recipe.clusters.count == 0 || classifier, "clusters.count",
            "a loss.name with a classifier, or 0");
    require(recipe.head.classifier == 0 || classifier, "head.classifier",
            "a loss.name with a classifier, or 0");
    require(recipe.head.classifier == 0 || recipe.train.tune == Tune::all, "head.classifier",
            "0 unless train.tune is all");
}

// What only losses that learn features use.
void check_labels_alone(const Recipe& recipe) {
    const bool places = asks_for(recipe.loss, &ObjectiveTerm::pixels) ||
                        asks_for(recipe.loss, &ObjectiveTerm::objects);
    require(places || (!recipe.head.any() && !recipe.head.has_own_classes()), "head.kind",
            "a loss that uses a head, such as loss.name grafit or segment, or none");
    require(recipe.views.name == ViewsKind::none, "views.name",
            "a loss that uses several views, such as loss.name grafit, or none");
}

void check_features(const Recipe& recipe) {
    require(
        asks_for(recipe.loss, &ObjectiveTerm::prototypes) == (recipe.head.kind == HeadKind::dino),
        "head.kind", "dino with loss.name dino, and with no other");
    require(
        recipe.augment.mixup == 0 && recipe.augment.cutmix == 0 && recipe.augment.mix_tokens == 0,
        "augment.mixup",
        "0, and augment.cutmix and augment.mix_tokens 0, as views are of single images");
    require(!asks_for(recipe.loss, &ObjectiveTerm::views) || recipe.views.name != ViewsKind::none,
            "views.name", "same or multi-crop, as the loss compares views of an image; found none");
    require(recipe.distill.kind == Distillation::none, "distill.kind", "none with this loss.name");
    require(!recipe.loss.cosub, "loss.cosub", "false with this loss.name");
    require(recipe.train.tune == Tune::all, "train.tune", "all with this loss.name");
    require(recipe.train.mode == "train", "train.mode", "train with this loss.name");
    require(recipe.eval.features == "trunk" || recipe.head.any(), "eval.features",
            "trunk, as there is no projector; found projection");
    require(!recipe.save.head || recipe.head.kind != HeadKind::none, "save.head",
            "a projector to save; found head.kind none");
}

}  // namespace

const std::vector<ObjectiveTerm>& objective_terms() {
    static const std::vector<ObjectiveTerm> kTerms = {
        {.name = "cross_entropy", .classifier = true, .accuracy = true, .bind_loss = bind_labels},
        {.name = "bce", .classifier = true, .accuracy = true, .check = check_bce},
        {.name = "token_label", .classifier = true, .accuracy = true, .check = check_token_label},
        {.name = "multi_label",
         .classifier = true,
         .target = several_labels,
         .task = several_classes,
         .bind_loss = bind_multi_label,
         .check = check_multi_label},
        {.name = "segment",
         .classifier = true,
         .target = pixel_labels,
         .pixels = true,
         .task = pixel_classes,
         .bind_loss = bind_segment,
         .check = check_segment},
        {.name = "mask_rcnn",
         .classifier = true,
         .target = boxes_and_masks,
         .objects = true,
         .task = boxes_of_classes,
         .bind = bind_detect,
         .check = check_mask_rcnn},
        {.name = "translate",
         .classifier = true,
         .sentences = true,
         .task = another_language,
         .check = check_translate},
        {.name = "knn", .features = true, .bind = bind_memory},
        {.name = "instance",
         .features = true,
         .views = true,
         .follows = true,
         .bind_loss = bind_instance},
        {.name = "triplet", .features = true, .views = true, .bind_loss = bind_triplet},
        {.name = "dino",
         .features = true,
         .views = true,
         .prototypes = true,
         .follows = true,
         .averages = true,
         .vote_temperature = 0.07,
         .bind = bind_dino,
         .check = check_dino}};
    return kTerms;
}

const std::vector<ObjectiveRow>& objective_rows() {
    static const std::vector<ObjectiveRow> kRows = {
        {"cross_entropy", "one class per image", {"cross_entropy"}},
        {"bce", "one yes or no per class", {"bce"}},
        {"token_label", "VOLO's, with a label for every token", {"token_label"}},
        {"multi_label", "any number of classes per image", {"multi_label"}},
        {"segment", "a class for every pixel", {"segment"}},
        {"mask_rcnn", "boxes of objects, with a class and a mask each", {"mask_rcnn"}},
        {"translate", "each next piece of a sentence's translation", {"translate"}},
        {"knn", "remembered images of the same class are the nearest (SNCA)", {"knn"}},
        {"instance", "views of an image agree with each other", {"instance"}},
        {"grafit", "knn and instance", {"knn", "instance"}},
        {"ce_instance", "cross_entropy and instance", {"cross_entropy", "instance"}},
        {"triplet", "views of an image are nearer to each other than to other images", {"triplet"}},
        {"ce_triplet", "cross_entropy and triplet", {"cross_entropy", "triplet"}},
        {"dino", "every view predicts what an average of the network says of others", {"dino"}}};
    return kRows;
}

std::vector<const ObjectiveTerm*> terms_of(std::string_view loss_name) {
    const auto row = std::ranges::find(objective_rows(), loss_name, &ObjectiveRow::name);
    if (row == objective_rows().end()) {
        std::vector<std::string_view> names;
        for (const ObjectiveRow& one : objective_rows()) names.push_back(one.name);
        throw UsageError(fmt::format("loss.name: expected one of {}; found '{}'",
                                     fmt::join(names, ", "), loss_name));
    }
    std::vector<const ObjectiveTerm*> terms;
    for (const std::string_view name : row->terms)
        terms.push_back(&*std::ranges::find(objective_terms(), name, &ObjectiveTerm::name));
    return terms;
}

bool asks_for(const LossPart& loss, bool ObjectiveTerm::*what) {
    return std::ranges::any_of(terms_of(loss.name),
                               [what](const ObjectiveTerm* term) { return term->*what; });
}

bool judged_by_neighbours(const Recipe& recipe) {
    return !asks_for(recipe.loss, &ObjectiveTerm::classifier) || recipe.clusters.count > 0;
}

TargetPtr target_of(const Recipe& recipe, const Dataset& train, ImageSize size) {
    for (const ObjectiveTerm* term : terms_of(recipe.loss.name))
        if (term->target != nullptr) return term->target(recipe, train, size);
    return one_label(recipe, train);
}

Task task_of(const Recipe& recipe) {
    for (const ObjectiveTerm* term : terms_of(recipe.loss.name))
        if (term->task != nullptr) return term->task(recipe);
    return {};
}

void bind_objectives(Settings& s, Recipe& recipe) {
    std::vector<std::string> names, helps;
    for (const ObjectiveRow& row : objective_rows()) {
        names.emplace_back(row.name);
        helps.push_back(fmt::format("{}: {}", row.name, row.help));
    }
    s.word("loss.name", recipe.loss.name, std::move(names),
           fmt::format("{}", fmt::join(helps, "; ")));
    for (const ObjectiveTerm& term : objective_terms())
        if (term.bind_loss != nullptr) term.bind_loss(s, recipe.loss);
    bind(s, recipe.head);
    bind_target(s, recipe.target);
    for (const ObjectiveTerm& term : objective_terms())
        if (term.bind != nullptr) term.bind(s, recipe);
    bind_clusters(s, recipe.clusters);
}

void bind_neighbours(Settings& s, EvalPart& eval) {
    s.integer("eval.neighbours", eval.neighbours, 1,
              "where the class head does not learn: validation images are classified by this "
              "number of training images",
              100'000);
    s.word("eval.features", eval.features, {"trunk", "projection"},
           "that these neighbours are found by");
}

std::optional<std::int64_t> pieces_to_learn(const std::string& vocabulary) {
    std::int64_t size = 0;
    const char* const end = vocabulary.data() + vocabulary.size();
    const auto [rest, error] = std::from_chars(vocabulary.data(), end, size);
    if (rest != end || vocabulary.empty() || vocabulary[0] == '-') return std::nullopt;
    return error == std::errc() ? size : std::numeric_limits<std::int64_t>::max();
}

void check_loss(const Recipe& recipe) {
    check_label_keys(recipe);
    require(translates(recipe) || !takes_text(configure(recipe.model.name)), "loss.name",
            fmt::format("translate, as {} is a model of sentences, found {}", recipe.model.name,
                        recipe.loss.name));
    for (const ObjectiveTerm* term : terms_of(recipe.loss.name))
        if (term->check != nullptr) term->check(recipe);
}

void check_objective(const Recipe& recipe) {
    check_clusters(recipe);
    if (asks_for(recipe.loss, &ObjectiveTerm::features))
        check_features(recipe);
    else
        check_labels_alone(recipe);
}

}  // namespace cait
