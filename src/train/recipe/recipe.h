// How a model is trained: everything that a run needs beside the data, as plain values. A recipe is
// read from TOML (recipe_file.h), changed key by key (recipe_keys.h) and kept beside the run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cait/settings.h"
#include "data/augment/mixup.h"
#include "data/augment/multi_crop.h"
#include "data/augment/random_erasing.h"
#include "data/augment/train_transform.h"
#include "models/projection_head.h"

namespace cait {

// [model]: every other key of the table is a setting of the model itself (docs/models.md).
struct ModelPart {
    std::string name = "cait_xxs24_224";
    std::string weights;                 // a file to start from; empty: fresh weights
    std::string weights_epoch = "auto";  // of a run: best, last, last_ema; auto: best, or else last
    bool prefer_ema = false;
    std::string scales;  // a model file whose branch weights are taken and kept; empty: they learn
    bool expects_weights = false;  // a recipe for fine-tuning: a run without weights says so
    SettingList settings;
    bool operator==(const ModelPart& other) const;  // in whatever order the settings are
};

enum class LastBatch { drop, keep };

// [data]
struct DataPart {
    std::string train;         // data set names, as `cait data` takes them
    std::string val;           // empty: the other part of `train`, or what is held out of it
    double holdout = 0.1;      // share that is held out where `train` has no other part
    std::int64_t batch = 128;  // images per optimiser step in all processes together
    LastBatch last_batch = LastBatch::drop;  // of an epoch, where the images do not fill it
    std::int64_t val_batch = 256;
    std::int64_t threads = 0;    // loader threads per process; 0: as many as cores
    std::int64_t repeats = 1;    // repeated augmentation
    double max_bad = 0.05;       // unreadable share of an epoch that ends the run
    std::string token_labels;    // folder of label maps, for loss.name token_label; empty: none
    std::string mean = "model";  // model (what the preset expects), imagenet, half, data (measured)
    // Of sentences: pieces of a step in all processes together, padding included, and what cuts
    // them: how many pieces to learn, or a file.
    std::int64_t pieces = 4096;
    std::string vocabulary = "8000";
    bool operator==(const DataPart&) const = default;
};

enum class ResizeStyle {
    opencv,  // bilinear without antialiasing, as mmsegmentation trains
    pillow,  // augment.filter, with antialiasing
};

// [augment]
struct AugmentPart {
    CropKind crop = CropKind::random_resized;
    Interval scale{0.08, 1.0};
    Interval ratio{3.0 / 4, 4.0 / 3};
    Filter filter = Filter::bicubic;
    double flip = 0.5;
    std::string policy = "none";  // "rand-m9-mstd0.5-inc1", "auto", "trivial", "three", "none"
    std::string jitter = "0";     // "0.3" or "0.4,0.4,0.2,0.1"
    bool force_jitter = false;
    double erase = 0;  // probability
    EraseMode erase_mode = EraseMode::pixel;
    std::int64_t erase_count = 1;
    double mixup = 0;   // alpha; 0: off
    double cutmix = 0;  // alpha; 0: off
    double mix_probability = 1;
    double mix_switch = 0.5;
    MixMode mix_mode = MixMode::batch;
    std::int64_t mix_off_epoch = 0;  // from this epoch on neither; 0: never switched off
    double mix_tokens = 0;           // MixToken: alpha; 0: off
    // Where every pixel has a class, image and label image move together, by these and `flip`.
    std::int64_t long_side = 0;   // that an image is made to fit before the ratio; 0: 4 short ones
    std::int64_t short_side = 0;  // 0: the model's
    Interval resize_ratio{0.5, 2.0};
    ResizeStyle resize = ResizeStyle::opencv;
    double largest_class = 0.75;  // share of a crop from which on another one is drawn; 1: never
    bool photometric = true;
    // Where boxes are found, images are made to fit into the model's with one of these.
    std::vector<std::int64_t> short_sides = {};  // empty: eleven, from 0.6 to 1 times short_side
    double crop_first = 0.5;                     // probability of a crop before that
    bool operator==(const AugmentPart&) const = default;
};

enum class ViewsKind {
    none,        // one view, as [augment] makes it
    same,        // several of them
    multi_crop,  // large and small crops with what is below; [augment] says nothing
};

// [views]: several views of each image, for losses that compare them.
struct ViewsPart {
    ViewsKind name = ViewsKind::none;
    std::int64_t count = 4;  // same: how many
    // multi-crop
    std::int64_t globals = 2;
    std::int64_t locals = 8;
    std::int64_t global_size = 0;  // pixels; 0: the model's
    std::int64_t local_size = 96;
    Interval global_scale{0.4, 1.0};
    Interval local_scale{0.05, 0.4};
    Filter filter = Filter::bicubic;
    double flip = 0.5;
    std::string jitter = "0.4,0.4,0.2,0.1";
    double jitter_probability = 0.8;
    double grey = 0.2;
    PerView blur{1.0, 0.1, 0.5};
    Interval blur_radius{0.1, 2.0};
    PerView solarize{0.0, 0.2, 0.0};
    bool operator==(const ViewsPart&) const = default;
};

// Whether images are mixed in pairs, for which a batch must have an even number of them.
bool mixes(const AugmentPart& augment);

enum class OptimizerKind { adamw, lamb, sgd, adagrad };
enum class ClipKind { none, norm, value, param };
enum class DecayRule {
    facebook,  // 1-D tensors, biases, pos_embed and cls_token do not decay
    timm,      // and neither does dist_token
    vectors,   // only 1-D tensors and biases do not: DINO
    norms,     // only what "norm" is the name of does not: XCiT's segmentation
    all,       // everything does: ResNets before 2019
};

// [optim]
struct OptimPart {
    OptimizerKind name = OptimizerKind::adamw;
    double lr = 5e-4;
    std::int64_t lr_batch = 512;  // lr is for this batch and grows with it; 0: lr as it stands
    double weight_decay = 0.05;
    double weight_decay_end = kDecayStays;  // cosine from weight_decay to this
    static constexpr double kDecayStays = -1;
    DecayRule decay_rule = DecayRule::facebook;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double momentum = 0.9;   // sgd
    bool nesterov = true;    // sgd
    double layer_decay = 1;  // each layer below the head learns this much slower; 1: off
    ClipKind clip = ClipKind::none;
    double clip_at = 1;
    // Parts that a batch is worked through in, or one of the two below.
    std::int64_t accumulate = kAccumulateAuto;
    static constexpr std::int64_t kAccumulateAuto = 0;  // as many as the memory asks for
    static constexpr std::int64_t kAccumulateOff = -1;  // one, or the run is refused
    bool operator==(const OptimPart&) const = default;
};

enum class ScheduleKind {
    cosine,
    cosine_after_warmup,  // the warm-up ends at the peak, and the cosine starts there: DINO
    step,
    constant,
    steps,  // at certain epochs
    poly,   // by a power of what is left of the run; the warm-up multiplies it: mmsegmentation
};
enum class ScheduleUnit { step, epoch };

// [schedule]; lengths are in epochs
struct SchedulePart {
    ScheduleKind name = ScheduleKind::cosine;
    ScheduleUnit unit = ScheduleUnit::step;  // how often the rate moves
    double epochs = 300;
    double warmup = 5;
    std::int64_t warmup_steps = 0;  // in place of `warmup`; 0: that counts
    double warmup_lr = 1e-6;
    double min_lr = 1e-5;
    bool scale_ends = false;               // a batch below optim.lr_batch lowers these two as well
    double cooldown = 0;                   // further epochs at min_lr
    double step_every = 30;                // schedule "step"
    double step_factor = 0.1;              // and "steps"
    std::vector<double> steps_at{27, 33};  // schedule "steps": epochs
    double power = 1;                      // schedule "poly"
    bool operator==(const SchedulePart&) const = default;
};

enum class ClassWeights {
    none,
    inverse,  // of a class's share of the training images
    root,     // the square root of that
};
// What the class head of a model with token labels learns where a map labels the tokens.
enum class ClassTarget {
    map,    // what the map says of the whole image
    blend,  // mostly that where it contradicts the label, else half of each
    label,
};
enum class Distillation { none, soft, hard, tokens };
enum class SoftMean { elements, images };

enum class PixelMean {
    all,  // the ignored ones add nothing, but count: mmsegmentation
    labelled,
};

// [loss]
struct LossPart {
    std::string name = "cross_entropy";  // a row of objective_rows.h
    double smoothing = 0;
    double bce_threshold = 0;  // targets above it count as 1 (DeiT III); below 0: kept soft
    bool cosub = false;
    double token_weight = 0.5;  // of VOLO's dense term
    ClassTarget class_target = ClassTarget::map;
    ClassWeights class_weights = ClassWeights::none;
    double view_weight = 1;         // of the term that compares views, beside another one
    double margin = 0.2;            // triplet
    double threshold = 0.5;         // multi_label: a class counts from this probability on
    double auxiliary_weight = 0.4;  // segment: of the second head's term
    PixelMean pixel_mean = PixelMean::all;
    bool operator==(const LossPart&) const = default;
};

// [target]: the slowly moving copy of the network.
struct TargetPart {
    double momentum = 0.996;  // of a step
    double momentum_end = 1;
    ScheduleKind schedule = ScheduleKind::cosine;  // or constant
    bool operator==(const TargetPart&) const = default;
};

// [memory]: one vector per training image.
struct MemoryPart {
    double sigma = 0.05;    // temperature of the neighbours' weights
    double momentum = 0.5;  // how much of its vector an image keeps when it is seen again
    bool operator==(const MemoryPart&) const = default;
};

// [clusters]: ClusterFit+, which trains on the clusters of another model's features.
struct ClusterPart {
    std::int64_t count = 0;  // 0: the data's own labels
    std::string weights;     // a model file, whose features are clustered
    std::int64_t rounds = 50;
    bool operator==(const ClusterPart&) const = default;
};

// [dino]
struct DinoPart {
    double student_temperature = 0.1;
    double teacher_temperature = 0.04;
    double teacher_start = 0.04;  // where the teacher's temperature begins ...
    double teacher_warmup = 0;    // ... and the epochs in which it rises
    double centre_momentum = 0.9;
    double freeze_last = 1;  // epochs in which the last layer does not learn
    bool operator==(const DinoPart&) const = default;
};

// [detect]: what the loss of a detector looks at in an image, and what its terms count.
struct DetectPart {
    std::int64_t anchors = 256;
    double anchor_positives = 0.5;  // share of these at most
    std::int64_t proposals = 1000;  // of the first stage, that regions are drawn from
    std::int64_t regions = 512;
    double region_positives = 0.25;
    double rpn_weight = 1;  // of both terms of the first stage
    double box_weight = 1;  // of both terms of the second stage
    double mask_weight = 1;
    bool operator==(const DetectPart&) const = default;
};

// [distill]
struct DistillPart {
    Distillation kind = Distillation::none;
    std::string teacher;  // a model file, or a name of the catalogue with `weights`
    std::string weights;
    double alpha = 0.5;
    double temperature = 1;
    SoftMean soft_mean = SoftMean::elements;  // what a soft teacher's term is divided by
    std::string size = "larger";  // at which the teacher is run: student, teacher, the larger
    bool cache = false;           // teacher logits kept per image; only where augmentation is off
    bool operator==(const DistillPart&) const = default;
};

enum class Tune { all, attention, head };

// [train]
struct TrainPart {
    std::int64_t seed = 0;
    std::int64_t steps = 0;  // length of the run, in place of schedule.epochs; 0: that counts
    std::string precision = "fp32";  // or bf16, or auto until a run starts
    std::string quantize = "none";   // or int8: learns with the engine's rounding
    Tune tune = Tune::all;           // head: linear probe on a frozen trunk
    std::string mode = "train";      // or eval: nothing is dropped, batch norms keep statistics
    double ema = 0;                  // decay per step; 0: off
    bool ema_warmup = false;         // smaller decay in the first steps: min(decay, (1+t)/(10+t))
    std::int64_t threads = 0;        // of the products; 0: as many as cores
    double memory = 0;               // GiB that a process may use; 0: what the machine has left
    std::int64_t patience = 0;       // epochs without a better one that end the run; 0: never
    bool sync_batch_norms = false;   // over the images of all processes
    bool frozen_norms = false;       // batch norms of the trunk stay as they are
    std::string device = "cpu";
    bool operator==(const TrainPart&) const = default;
};

// [eval]
struct EvalPart {
    double crop_ratio = 0;   // 0: the model's own
    std::int64_t every = 1;  // epochs
    std::string crop_mode = "centre";
    // Of a model whose class head does not learn: so many neighbours, by these features.
    std::int64_t neighbours = 20;
    std::string features = "trunk";  // or projection
    bool operator==(const EvalPart&) const = default;
};

// [save]
struct SavePart {
    std::int64_t steps = 0;       // also every so many steps; 0: at the end of epochs only
    std::int64_t keep_every = 0;  // epochs whose model files stay for good; 0: none
    // The score that decides; with _ema: of averaged weights; auto: the one that says most of the
    // task (leading_score).
    std::string best = "auto";
    bool head = false;            // model files keep the projector
    std::int64_t average = 0;     // last epochs whose weights are averaged; 0: none
    bool operator==(const SavePart&) const = default;
};

// [for.deit3_large]: what the models whose names start so have in place of the recipe's own values.
struct ModelValues {
    std::string models;
    SettingList values;  // "optim.lr" and the text of its value
    bool operator==(const ModelValues&) const = default;
};

struct Recipe {
    std::string about;  // one line for people
    ModelPart model;
    DataPart data;
    AugmentPart augment;
    ViewsPart views;
    OptimPart optim;
    SchedulePart schedule;
    LossPart loss;
    HeadConfig head;
    TargetPart target;
    MemoryPart memory;
    DinoPart dino;
    ClusterPart clusters;
    DetectPart detect;
    DistillPart distill;
    TrainPart train;
    EvalPart eval;
    SavePart save;
    std::vector<ModelValues> for_models;  // taken when another model is named
    bool operator==(const Recipe&) const = default;
};

// Whether nothing learns to tell the classes of the data apart, so that validation asks the nearest
// training images.
bool judged_by_neighbours(const Recipe& recipe);

}  // namespace cait
