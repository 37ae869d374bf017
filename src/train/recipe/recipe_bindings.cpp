// The table itself: the keys of each part with their ranges and what they are for.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "cait/error.h"
#include "image/evaluation_transform.h"
#include "train/recipe/bind_values.h"
#include "train/recipe/model_settings.h"
#include "train/recipe/objective_rows.h"
#include "train/recipe/recipe_keys.h"

namespace cait {

namespace {

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
constexpr double kLongestText = 1e6;  // epochs

void bind_model(Settings& s, ModelPart& p) {
    s.custom({"model.name", "a preset, see `cait models`; other keys of the table change it",
              [&p] { return p.name; },
              [&p](const std::string& text) {
                  check_model(text);
                  p.name = text;
              },
              Settings::Kind::text, "text"});
    bind_text(s, "model.weights", p.weights,
              "a file to start from, the folder of a run, or official; empty: fresh weights");
    s.word("model.weights_epoch", p.weights_epoch, {"auto", "best", "last", "last_ema"},
           "which weights of a run; auto: the best, or the last where there are no best");
    s.flag("model.prefer_ema", p.prefer_ema, "start from the averaged weights of that file");
    bind_text(s, "model.scales", p.scales,
              "a model file whose weights of the residual branches (LayerScale) are taken and do "
              "not learn; empty: they do");
    s.flag("model.expects_weights", p.expects_weights,
           "the recipe is for fine-tuning: a run that starts from nothing says so");
}

void bind_data(Settings& s, DataPart& p) {
    bind_text(s, "data.train", p.train, "data set for training, as `cait data` takes it");
    bind_text(s, "data.val", p.val,
              "data set for validation; empty: the other part of data.train, or what is held out "
              "of it; none: no validation");
    s.number("data.holdout", p.holdout, 0, 0.9,
             "share of every class, at least one image where it has two, that is held out where "
             "data.train has no other part; 0: none");
    s.integer("data.batch", p.batch, 1, "images per optimiser step, in all processes together");
    s.choice("data.last_batch", p.last_batch,
             {{"drop", LastBatch::drop}, {"keep", LastBatch::keep}},
             "the images at the end of an epoch that do not fill a batch: left out, or a smaller "
             "batch");
    s.integer("data.val_batch", p.val_batch, 1, "images per step of validation");
    s.integer("data.threads", p.threads, 0, "loader threads per process; 0: as many as cores",
              1024);
    s.integer("data.repeats", p.repeats, 1,
              "repeated augmentation: variants of one image in an epoch", 64);
    s.number("data.max_bad", p.max_bad, 0, 1, "unreadable share of the images that ends the run");
    bind_text(s, "data.token_labels", p.token_labels,
              "a folder of label maps, CLASS/IMAGE.pt or .npy, for loss.name token_label; empty: "
              "none");
    s.word("data.mean", p.mean, {"model", "imagenet", "half", "data"},
           "what normalises images: the preset's, ImageNet's, 0.5, or measured on the data");
    s.integer("data.pieces", p.pieces, 1,
              "translate: pieces per optimiser step, in all processes together: sentences times "
              "the longer side, padding included");
    bind_text(s, "data.vocabulary", p.vocabulary,
              "translate: what cuts sentences into pieces: how many pieces to learn from the "
              "training data, or a file: a model of cait, a SentencePiece model, a list of words, "
              "or CODES,DICTIONARY of a published model");
}

void bind_crop(Settings& s, AugmentPart& p) {
    s.choice(
        "augment.crop", p.crop,
        {{crop_kind_name(CropKind::random_resized), CropKind::random_resized},
         {crop_kind_name(CropKind::simple), CropKind::simple},
         {crop_kind_name(CropKind::padded), CropKind::padded},
         {crop_kind_name(CropKind::squash), CropKind::squash},
         {crop_kind_name(CropKind::evaluation), CropKind::evaluation}},
        "random resized crop; resized, then a random crop with 4 mirrored pixels around it, or "
        "with 4 black ones; resized only; what evaluation shows (FixRes), by eval.crop_ratio and "
        "eval.crop_mode");
    bind_interval(s, "augment.scale", p.scale, 1, "rrc: share of the image's area");
    bind_interval(s, "augment.ratio", p.ratio, 100, "rrc: width over height");
    bind_filter(s, "augment.filter", p.filter);
    s.number("augment.flip", p.flip, 0, 1, "probability of mirroring");
}

void bind_colour(Settings& s, AugmentPart& p) {
    s.custom({"augment.policy", "automatic augmentation, in timm's notation",
              [&p] { return p.policy; },
              [&p](const std::string& text) {
                  parse_policy(text);
                  p.policy = text;
              },
              Settings::Kind::text,
              "rand-m9-mstd0.5-inc1 …, original, v0, trivial, three, three-grey-blur …, none"});
    bind_jitter(s, "augment.jitter", p.jitter);
    s.flag("augment.force_jitter", p.force_jitter,
           "jitter also alongside a policy that replaces it");
    s.number("augment.erase", p.erase, 0, 1, "probability of random erasing");
    s.choice("augment.erase_mode", p.erase_mode,
             {{erase_mode_name(EraseMode::pixel), EraseMode::pixel},
              {erase_mode_name(EraseMode::colour), EraseMode::colour},
              {erase_mode_name(EraseMode::constant), EraseMode::constant}},
             "what erased rectangles hold: noise, one random colour, the mean");
    s.integer("augment.erase_count", p.erase_count, 1, "rectangles per image", 100);
}

void bind_mix(Settings& s, AugmentPart& p) {
    s.number("augment.mixup", p.mixup, 0, 1000, "mixup: alpha of its Beta distribution; 0: off");
    s.number("augment.cutmix", p.cutmix, 0, 1000, "CutMix: alpha of its Beta distribution; 0: off");
    s.number("augment.mix_probability", p.mix_probability, 0, 1, "of mixing at all");
    s.number("augment.mix_switch", p.mix_switch, 0, 1, "probability of CutMix where both are on");
    s.choice("augment.mix_mode", p.mix_mode,
             {{mix_mode_name(MixMode::batch), MixMode::batch},
              {mix_mode_name(MixMode::pair), MixMode::pair},
              {mix_mode_name(MixMode::element), MixMode::element}},
             "one draw per batch, per pair of images or per image");
    s.integer("augment.mix_off_epoch", p.mix_off_epoch, 0,
              "from this epoch on neither mixup nor CutMix; 0: never switched off");
    s.number("augment.mix_tokens", p.mix_tokens, 0, 1000,
             "MixToken, for loss.name token_label: images exchange a box of tokens inside the "
             "model; alpha of its Beta distribution; 0: off");
}

void bind_joint(Settings& s, AugmentPart& p) {
    s.integer("augment.long_side", p.long_side, 0,
              "segment: longer side that an image is made to fit, at its aspect, before "
              "augment.resize_ratio; 0: four times the shorter one; mask_rcnn: that no image "
              "exceeds; 0: the model's",
              100'000);
    s.integer("augment.short_side", p.short_side, 0,
              "segment: the same for the shorter side; mask_rcnn: the largest of the shorter sides "
              "that augment.short_sides=auto has, and what crops are measured by; 0: the model's "
              "image size",
              100'000);
    bind_interval(s, "augment.resize_ratio", p.resize_ratio, 100,
                  "segment: both sides are multiplied by a number drawn from here");
    s.choice(
        "augment.resize", p.resize,
        {{"opencv", ResizeStyle::opencv}, {"pillow", ResizeStyle::pillow}},
        "segment, mask_rcnn: OpenCV's bilinear without antialiasing, as mmsegmentation has it, or "
        "augment.filter with it");
    s.number("augment.largest_class", p.largest_class, 0.01, 1,
             "segment: another crop is drawn, up to ten times, while one class has this share of "
             "its labelled pixels; 1: never");
    s.flag("augment.photometric", p.photometric,
           "segment, mask_rcnn: random brightness, contrast, saturation and hue");
    bind_list(s, "augment.short_sides", p.short_sides, 16, 100'000, "auto",
              "mask_rcnn: an image is resized to one of these shorter sides; auto: eleven of them, "
              "from 0.6 to 1 times augment.short_side (480 … 800 of 800)");
    s.number("augment.crop_first", p.crop_first, 0, 1,
             "mask_rcnn: probability that an image is cropped before that, as DETR does it");
}

void bind_accumulate(Settings& s, std::int64_t& field) {
    s.custom({"optim.accumulate",
              "parts that a batch is worked through in, to save memory; auto: as many as this "
              "machine's memory asks for; off: one, or the run is refused",
              [&field] {
                  if (field == OptimPart::kAccumulateAuto) return std::string("auto");
                  return field == OptimPart::kAccumulateOff ? "off" : std::to_string(field);
              },
              [&field](const std::string& text) {
                  if (text == "auto" || text == "off") {
                      field =
                          text == "auto" ? OptimPart::kAccumulateAuto : OptimPart::kAccumulateOff;
                      return;
                  }
                  const double number = parse_number(text);
                  if (!(number >= 1 && number <= 1e6 && number == std::floor(number)))
                      throw UsageError(
                          fmt::format("expected auto, off or a number from 1, found '{}'", text));
                  field = std::int64_t(number);
              },
              Settings::Kind::list, "auto, off, or a number from 1"});
}

void bind_optim(Settings& s, OptimPart& p) {
    s.choice("optim.name", p.name,
             {{"adamw", OptimizerKind::adamw},
              {"lamb", OptimizerKind::lamb},
              {"sgd", OptimizerKind::sgd},
              {"adagrad", OptimizerKind::adagrad}},
             "optimiser");
    s.number("optim.lr", p.lr, 1e-12, 1000, "learning rate at its peak, for a batch of lr_batch");
    s.integer(
        "optim.lr_batch", p.lr_batch, 0,
        "lr grows with the batch (of translate, its pieces) in proportion to this one; 0: lr as "
        "it stands");
    s.number(
        "optim.weight_decay", p.weight_decay, 0, 10,
        "adamw, lamb: decoupled from the gradient; sgd, adagrad: coupled, added to the gradient "
        "as in PyTorch");
    s.number("optim.weight_decay_end", p.weight_decay_end, OptimPart::kDecayStays, 10,
             "where the decay arrives along half a cosine; below 0: it stays as it is");
    s.choice("optim.decay_rule", p.decay_rule,
             {{"facebook", DecayRule::facebook},
              {"timm", DecayRule::timm},
              {"vectors", DecayRule::vectors},
              {"norms", DecayRule::norms},
              {"all", DecayRule::all}},
             "what decays. all: every parameter, norms and biases too (classic ResNets); norms: "
             "all but those of layers called norm (XCiT's segmentation); vectors: "
             "all but vectors and biases (DINO); facebook: pos_embed and cls_token neither; timm: "
             "nor dist_token");
    s.number("optim.beta1", p.beta1, 0, 1, "adamw, lamb: memory of the gradient");
    s.number("optim.beta2", p.beta2, 0, 1, "adamw, lamb: memory of its square");
    s.number("optim.epsilon", p.epsilon, 1e-30, 1,
             "adamw, lamb, adagrad: added to the denominator");
    s.number("optim.momentum", p.momentum, 0, 1, "sgd");
    s.flag("optim.nesterov", p.nesterov, "sgd: Nesterov's momentum");
    s.number("optim.layer_decay", p.layer_decay, 0.01, 1,
             "BEiT's rule: a block learns this times as fast as the one above it, the embeddings "
             "again below the first block; the head and the last norm at the full rate; 1: off");
    s.choice("optim.clip", p.clip,
             {{"none", ClipKind::none},
              {"norm", ClipKind::norm},
              {"value", ClipKind::value},
              {"param", ClipKind::param}},
             "gradients are cut by their common norm, number by number, by each parameter's own "
             "norm, or not");
    s.number("optim.clip_at", p.clip_at, 1e-9, 1e9, "the largest norm or value");
    bind_accumulate(s, p.accumulate);
}

void bind_schedule(Settings& s, SchedulePart& p) {
    s.choice(
        "schedule.name", p.name,
        {{"cosine", ScheduleKind::cosine},
         {"cosine-after-warmup", ScheduleKind::cosine_after_warmup},
         {"step", ScheduleKind::step},
         {"steps", ScheduleKind::steps},
         {"constant", ScheduleKind::constant},
         {"poly", ScheduleKind::poly}},
        "how the learning rate falls after the warm-up, which is a part of the cosine's period "
        "or comes before it; step: every schedule.step_every epochs; steps: at "
        "schedule.steps_at; poly: by schedule.power of what is left of the run, where the warm-up "
        "multiplies it (mmsegmentation)");
    s.choice("schedule.unit", p.unit,
             {{"step", ScheduleUnit::step}, {"epoch", ScheduleUnit::epoch}},
             "how often the rate moves");
    s.number("schedule.epochs", p.epochs, 1, kLongestText, "length, with the warm-up");
    s.number("schedule.warmup", p.warmup, 0, kLongestText, "epochs in which the rate rises");
    s.integer("schedule.warmup_steps", p.warmup_steps, 0,
              "steps in which the rate rises, in place of schedule.warmup; 0: that counts", kAny);
    s.number("schedule.warmup_lr", p.warmup_lr, 0, 1000, "where it starts");
    s.number("schedule.min_lr", p.min_lr, 0, 1000, "cosine, poly: where it ends");
    s.flag("schedule.scale_ends", p.scale_ends,
           "a batch below optim.lr_batch lowers warmup_lr and min_lr as it lowers lr; false: they "
           "stay as written, as in DeiT's code");
    s.number("schedule.cooldown", p.cooldown, 0, kLongestText, "further epochs at min_lr");
    s.number("schedule.step_every", p.step_every, 0.001, kLongestText,
             "step: epochs between steps");
    s.number("schedule.step_factor", p.step_factor, 1e-6, 1,
             "step, steps: the rate is multiplied by it");
    bind_list(s, "schedule.steps_at", p.steps_at, 0.001, kLongestText, "none",
              "steps: the epochs at which the rate falls so");
    s.number("schedule.power", p.power, 0.01, 100, "poly: 1 is a straight line");
}

void bind_distill(Settings& s, DistillPart& p) {
    s.choice("distill.kind", p.kind,
             {{"none", Distillation::none},
              {"soft", Distillation::soft},
              {"hard", Distillation::hard},
              {"tokens", Distillation::tokens}},
             "whether a teacher's probabilities or decisions are learned too; tokens: it labels "
             "every token, for loss.name token_label");
    bind_text(s, "distill.teacher", p.teacher,
              "a model file, or a preset whose file is distill.weights");
    bind_text(s, "distill.weights", p.weights, "the teacher's weights where it is a preset");
    s.number("distill.alpha", p.alpha, 0, 1, "the teacher's share of the loss");
    s.number("distill.temperature", p.temperature, 1e-3, 1e3, "soft, tokens: divides the logits");
    s.choice("distill.soft_mean", p.soft_mean,
             {{"elements", SoftMean::elements}, {"images", SoftMean::images}},
             "soft: the divergence is divided by images times classes, as DeiT's code does it, or "
             "by images, as its formula says");
    s.word("distill.size", p.size, {"larger", "student", "teacher"},
           "image size that the teacher is run at: the student's, for which its positions are "
           "resized, its own, for which images are, or the larger of the two");
    s.flag("distill.cache", p.cache,
           "keep the teacher's logits per image; only where augmentation is off");
}

void bind_train(Settings& s, TrainPart& p) {
    s.integer("train.seed", p.seed, 0, "of everything random", kAny);
    s.integer("train.steps", p.steps, 0,
              "length of the run in steps, in place of schedule.epochs; 0: that counts", kAny);
    s.word("train.precision", p.precision, {"fp32", "bf16", "auto"},
           "of the products; auto: bf16 where the processor has instructions for it");
    s.word("train.quantize", p.quantize, {"none", "int8"},
           "int8: linear layers of the blocks see weights and activations rounded as the engine "
           "rounds them, and validation runs in int8");
    s.choice("train.tune", p.tune,
             {{"all", Tune::all}, {"attention", Tune::attention}, {"head", Tune::head}},
             "which parameters learn; head: a linear probe");
    s.word("train.mode", p.mode, {"train", "eval"},
           "eval: the network runs as at evaluation while it learns: nothing is dropped, batch "
           "norms keep their statistics");
    s.number("train.ema", p.ema, 0, 1, "decay per step of the averaged weights; 0: no average");
    s.flag("train.ema_warmup", p.ema_warmup,
           "smaller decay in the first steps: min(decay, (1 + t) / (10 + t))");
    s.integer("train.threads", p.threads, 0, "threads of the products; 0: as many as cores", 1024);
    s.number("train.memory", p.memory, 0, 1e6,
             "GiB that a process may use; 0: its share of what machine and container have left");
    s.integer("train.patience", p.patience, 0,
              "epochs without a better one, by save.best, after which a validation ends the run; "
              "0: never");
    s.flag("train.sync_batch_norms", p.sync_batch_norms,
           "segment, mask_rcnn: batch norms take the statistics of all processes' images");
    s.flag("train.frozen_norms", p.frozen_norms,
           "batch norms of the backbone keep their statistics and do not learn: for the few images "
           "of a detector's batch");
    bind_text(s, "train.device", p.device, "cpu, or a device of LibTorch such as cuda:0");
}

void bind_eval_and_save(Settings& s, EvalPart& eval, SavePart& save) {
    s.number("eval.crop_ratio", eval.crop_ratio, 0, 2,
             "size over the side before the crop; 0: the model's own");
    s.integer("eval.every", eval.every, 1, "epochs from one validation to the next");
    std::vector<std::string> modes;
    for (const CropMode mode : {CropMode::centre, CropMode::squash, CropMode::border})
        modes.emplace_back(crop_mode_name(mode));
    s.word("eval.crop_mode", eval.crop_mode, std::move(modes),
           "how an image that is not square is cut");
    bind_neighbours(s, eval);
    s.integer("save.steps", save.steps, 0, "also save every N steps; 0: at the end of epochs only",
              kAny);
    s.integer("save.keep_every", save.keep_every, 0,
              "keep the model files of every Nth epoch, averaged weights too; 0: none");
    bind_text(
        s, "save.best", save.best,
        "the score that decides which weights are the best, and with _ema that of averaged "
        "weights; the first of these is auto: top1, top5, loss or ece; of loss.name multi_label "
        "map, f1, macro_f1, exact_match or loss; of segment miou, macc or aacc; of mask_rcnn "
        "box_ap, mask_ap and the other scores of cait eval; of translate perplexity or loss");
    s.flag("save.head", save.head, "model files keep the projector of [head]");
    s.integer("save.average", save.average, 0,
              "also keep the mean of the weights of the last N epochs: last_ema.safetensors, and "
              "best.safetensors where save.best ends in _ema; 0: no such mean",
              100);
}

}  // namespace

void bind(Settings& keys, Recipe& recipe) {
    bind_text(keys, "about", recipe.about, "one line for people");
    bind_model(keys, recipe.model);
    bind_data(keys, recipe.data);
    bind_crop(keys, recipe.augment);
    bind_colour(keys, recipe.augment);
    bind_mix(keys, recipe.augment);
    bind_joint(keys, recipe.augment);
    bind_views(keys, recipe.views);
    bind_optim(keys, recipe.optim);
    bind_schedule(keys, recipe.schedule);
    bind_objectives(keys, recipe);
    bind_distill(keys, recipe.distill);
    bind_train(keys, recipe.train);
    bind_eval_and_save(keys, recipe.eval, recipe.save);
    bind_readers(keys, recipe);
}

}  // namespace cait
