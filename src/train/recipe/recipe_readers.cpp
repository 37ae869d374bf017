// What a key needs in order to have an effect: a table beside that of the keys. A rule stands here
// when the program does not look at the key unless another one has a certain value; what is wrong
// in itself is refused by recipe_check.cpp. To switch something off is always an effect.
#include "train/recipe/bind_values.h"
#include "train/recipe/objective_rows.h"

namespace cait {

namespace {

struct ReadRule {
    std::vector<std::string> keys;
    bool (*reads)(const Recipe&);
    const char* when;
};

bool jitters(const std::string& jitter) { return ColourJitter::parse(jitter).active(); }
bool policy_keeps_jitter(const AugmentPart& a) { return keeps_jitter(parse_policy(a.policy)); }
bool distils(const Recipe& r) { return r.distill.kind != Distillation::none; }
bool segments(const Recipe& r) { return asks_for(r.loss, &ObjectiveTerm::pixels); }
bool detects(const Recipe& r) { return asks_for(r.loss, &ObjectiveTerm::objects); }
bool moves_jointly(const Recipe& r) { return segments(r) || detects(r); }
bool shows_images(const Recipe& r) { return !translates(r); }
bool crops_several(const Recipe& r) { return r.views.name == ViewsKind::multi_crop; }

const std::vector<ReadRule>& data_rules() {
    static const std::vector<ReadRule> kRules = {
        {{"model.weights_epoch"},
         [](const Recipe& r) { return !r.model.weights.empty(); },
         "model.weights"},
        {{"model.prefer_ema"},
         [](const Recipe& r) { return !r.model.prefer_ema || !r.model.weights.empty(); },
         "model.weights"},
        {{"data.holdout"}, [](const Recipe& r) { return r.data.val.empty(); }, "data.val left out"},
        {{"data.pieces", "data.vocabulary"}, translates, "loss.name=translate"},
        {{"data.batch", "data.last_batch", "data.val_batch", "data.repeats", "data.max_bad",
          "data.mean", "augment.crop", "augment.scale", "augment.ratio", "augment.filter",
          "augment.flip", "augment.policy", "augment.jitter", "augment.force_jitter",
          "augment.erase", "augment.erase_mode", "augment.erase_count", "eval.crop_ratio",
          "eval.crop_mode"},
         shows_images,
         "a loss.name other than translate"},
        {{"augment.crop", "augment.scale", "augment.ratio", "augment.filter", "augment.flip",
          "augment.policy", "augment.jitter", "augment.force_jitter", "augment.erase",
          "augment.erase_mode", "augment.erase_count"},
         [](const Recipe& r) { return !crops_several(r); },
         "a views.name other than multi-crop"},
        {{"augment.crop", "augment.scale", "augment.ratio", "augment.policy", "augment.jitter",
          "augment.force_jitter", "augment.erase", "eval.crop_ratio", "eval.crop_mode"},
         [](const Recipe& r) { return !moves_jointly(r); },
         "a loss.name other than segment and mask_rcnn"},
        {{"augment.long_side", "augment.short_side", "augment.resize", "augment.photometric"},
         moves_jointly,
         "loss.name segment or mask_rcnn"},
        {{"augment.resize_ratio", "augment.largest_class"}, segments, "loss.name=segment"},
        {{"augment.short_sides", "augment.crop_first"}, detects, "loss.name=mask_rcnn"},
        {{"augment.filter"},
         [](const Recipe& r) {
             return !moves_jointly(r) || r.augment.resize == ResizeStyle::pillow;
         },
         "augment.resize=pillow with loss.name segment or mask_rcnn"},
        {{"augment.scale", "augment.ratio"},
         [](const Recipe& r) { return r.augment.crop == CropKind::random_resized; },
         "augment.crop=rrc"},
        {{"augment.jitter"},
         [](const Recipe& r) {
             return !jitters(r.augment.jitter) || r.augment.force_jitter ||
                    policy_keeps_jitter(r.augment);
         },
         "augment.policy none or three, or augment.force_jitter=true"},
        {{"augment.force_jitter"},
         [](const Recipe& r) {
             return !r.augment.force_jitter ||
                    (jitters(r.augment.jitter) && !policy_keeps_jitter(r.augment));
         },
         "an augment.jitter above 0 alongside an augment.policy that replaces it"},
        {{"augment.erase_mode", "augment.erase_count"},
         [](const Recipe& r) { return r.augment.erase > 0; },
         "augment.erase above 0"},
        {{"augment.mix_probability", "augment.mix_mode", "augment.mix_off_epoch"},
         [](const Recipe& r) { return r.augment.mixup > 0 || r.augment.cutmix > 0; },
         "augment.mixup or augment.cutmix above 0"},
        {{"augment.mix_switch"},
         [](const Recipe& r) { return r.augment.mixup > 0 && r.augment.cutmix > 0; },
         "augment.mixup and augment.cutmix above 0"},
        {{"views.count"},
         [](const Recipe& r) { return r.views.name == ViewsKind::same; },
         "views.name=same"},
        {{"views.globals", "views.locals", "views.global_size", "views.local_size",
          "views.global_scale", "views.local_scale", "views.filter", "views.flip", "views.jitter",
          "views.jitter_probability", "views.grey", "views.blur", "views.blur_radius",
          "views.solarize"},
         crops_several,
         "views.name=multi-crop"},
        {{"views.local_size", "views.local_scale"},
         [](const Recipe& r) { return r.views.locals > 0; },
         "views.locals above 0"},
        {{"views.jitter_probability"},
         [](const Recipe& r) { return jitters(r.views.jitter); },
         "views.jitter above 0"}};
    return kRules;
}

const std::vector<ReadRule>& optim_rules() {
    static const std::vector<ReadRule> kRules = {
        {{"optim.beta1", "optim.beta2"},
         [](const Recipe& r) {
             return r.optim.name == OptimizerKind::adamw || r.optim.name == OptimizerKind::lamb;
         },
         "optim.name adamw or lamb"},
        {{"optim.epsilon"},
         [](const Recipe& r) { return r.optim.name != OptimizerKind::sgd; },
         "optim.name adamw, lamb or adagrad"},
        {{"optim.momentum", "optim.nesterov"},
         [](const Recipe& r) { return r.optim.name == OptimizerKind::sgd; },
         "optim.name=sgd"},
        {{"optim.decay_rule"},
         [](const Recipe& r) { return r.optim.weight_decay > 0 || r.optim.weight_decay_end > 0; },
         "optim.weight_decay above 0"},
        {{"optim.layer_decay"},
         [](const Recipe& r) { return r.train.tune != Tune::head; },
         "a train.tune other than head"},
        {{"optim.clip_at"},
         [](const Recipe& r) { return r.optim.clip != ClipKind::none; },
         "an optim.clip other than none"},
        {{"schedule.epochs"}, [](const Recipe& r) { return r.train.steps == 0; }, "train.steps=0"},
        {{"schedule.warmup"},
         [](const Recipe& r) { return r.schedule.warmup_steps == 0; },
         "schedule.warmup_steps=0"},
        {{"schedule.warmup_lr"},
         [](const Recipe& r) { return r.schedule.warmup > 0 || r.schedule.warmup_steps > 0; },
         "schedule.warmup or schedule.warmup_steps above 0"},
        {{"schedule.min_lr"},
         [](const Recipe& r) {
             return r.schedule.name == ScheduleKind::cosine ||
                    r.schedule.name == ScheduleKind::cosine_after_warmup ||
                    r.schedule.name == ScheduleKind::poly || r.schedule.cooldown > 0;
         },
         "schedule.name cosine, cosine-after-warmup or poly, or schedule.cooldown above 0"},
        {{"schedule.scale_ends"},
         [](const Recipe& r) { return r.optim.lr_batch > 0; },
         "optim.lr_batch above 0"},
        {{"schedule.step_every"},
         [](const Recipe& r) { return r.schedule.name == ScheduleKind::step; },
         "schedule.name=step"},
        {{"schedule.step_factor"},
         [](const Recipe& r) {
             return r.schedule.name == ScheduleKind::step || r.schedule.name == ScheduleKind::steps;
         },
         "schedule.name step or steps"},
        {{"schedule.steps_at"},
         [](const Recipe& r) { return r.schedule.name == ScheduleKind::steps; },
         "schedule.name=steps"},
        {{"schedule.power"},
         [](const Recipe& r) { return r.schedule.name == ScheduleKind::poly; },
         "schedule.name=poly"},
        {{"train.sync_batch_norms"},
         [](const Recipe& r) { return !r.train.sync_batch_norms || moves_jointly(r); },
         "loss.name segment or mask_rcnn"},
        {{"train.ema_warmup"},
         [](const Recipe& r) { return !r.train.ema_warmup || r.train.ema > 0; },
         "train.ema above 0"},
        {{"eval.neighbours"},
         judged_by_neighbours,
         "a loss.name without a classifier, or clusters.count above 0"},
        {{"eval.features"},
         [](const Recipe& r) { return r.eval.features == "trunk" || judged_by_neighbours(r); },
         "a loss.name without a classifier, or clusters.count above 0"},
        {{"save.head"},
         [](const Recipe& r) { return !r.save.head || r.head.any(); },
         "a head.kind other than none"}};
    return kRules;
}

const std::vector<ReadRule>& loss_rules() {
    static const std::vector<ReadRule> kRules = {
        {{"loss.smoothing"},
         [](const Recipe& r) {
             return asks_for(r.loss, &ObjectiveTerm::classifier) && !moves_jointly(r);
         },
         "a loss.name with a classifier of images, or translate"},
        {{"loss.bce_threshold"},
         [](const Recipe& r) { return r.loss.name == "bce"; },
         "loss.name=bce"},
        {{"loss.token_weight", "loss.class_target"},
         [](const Recipe& r) { return r.loss.name == "token_label"; },
         "loss.name=token_label"},
        {{"loss.class_target"},
         [](const Recipe& r) {
             return !r.data.token_labels.empty() || r.distill.kind == Distillation::tokens;
         },
         "data.token_labels or distill.kind=tokens"},
        {{"loss.view_weight"},
         [](const Recipe& r) {
             return asks_for(r.loss, &ObjectiveTerm::views) && terms_of(r.loss.name).size() > 1;
         },
         "a loss.name that compares views alongside another term"},
        {{"head.hidden"},
         [](const Recipe& r) {
             return r.head.kind == HeadKind::mlp || r.head.kind == HeadKind::dino ||
                    r.head.is_detector();
         },
         "head.kind mlp, dino or mask_rcnn"},
        {{"head.outputs"},
         [](const Recipe& r) { return r.head.kind != HeadKind::none && !r.head.has_own_classes(); },
         "a head.kind that projects"},
        {{"head.bottleneck", "head.batch_norm", "head.norm_last_layer"},
         [](const Recipe& r) { return r.head.kind == HeadKind::dino; },
         "head.kind=dino"},
        {{"target.momentum", "target.momentum_end", "target.schedule"},
         [](const Recipe& r) { return asks_for(r.loss, &ObjectiveTerm::follows); },
         "a loss.name with a target network"},
        {{"target.momentum_end"},
         [](const Recipe& r) { return r.target.schedule == ScheduleKind::cosine; },
         "target.schedule=cosine"},
        {{"clusters.rounds"},
         [](const Recipe& r) { return r.clusters.count > 0; },
         "clusters.count above 0"},
        {{"distill.teacher", "distill.weights", "distill.alpha", "distill.temperature",
          "distill.soft_mean", "distill.size"},
         distils,
         "a distill.kind other than none"},
        {{"distill.cache"},
         [](const Recipe& r) { return !r.distill.cache || distils(r); },
         "a distill.kind other than none"},
        {{"distill.alpha"},
         [](const Recipe& r) { return r.distill.kind != Distillation::tokens; },
         "distill.kind soft or hard"},
        {{"distill.temperature"},
         [](const Recipe& r) { return r.distill.kind != Distillation::hard; },
         "distill.kind soft or tokens"},
        {{"distill.soft_mean"},
         [](const Recipe& r) { return r.distill.kind == Distillation::soft; },
         "distill.kind=soft"}};
    return kRules;
}

}  // namespace

void bind_readers(Settings& settings, const Recipe& recipe) {
    for (const auto* rules : {&data_rules(), &optim_rules(), &loss_rules()})
        for (const ReadRule& rule : *rules)
            settings.read_if(
                rule.keys, [&recipe, reads = rule.reads] { return reads(recipe); }, rule.when);
}

}  // namespace cait
