// The rules of a recipe: each field within its range, and what fields ask of each other. A rule
// stands here when breaking it would waste a run or quietly train something else.
#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"
#include "cait/scores.h"
#include "train/recipe/bind_values.h"
#include "train/recipe/model_settings.h"
#include "train/recipe/objective_rows.h"
#include "train/recipe/recipe_keys.h"

namespace cait {

namespace {

// Setting a field to what it holds is refused when that is out of range.
void check_ranges(const Recipe& recipe) {
    Recipe copy = recipe;
    Settings keys;
    bind(keys, copy);
    for (const Settings::Key& key : keys.keys()) {
        try {
            key.set(key.get());
        } catch (const UsageError& error) {
            throw UsageError(fmt::format("{}: {}", key.name, error.what()));
        }
    }
    const auto below_one = [](std::string_view key, double value) {
        require(value < 1, key, fmt::format("below 1, found {}", value));
    };
    below_one("optim.beta1", recipe.optim.beta1);
    below_one("optim.beta2", recipe.optim.beta2);
    below_one("optim.momentum", recipe.optim.momentum);
    below_one("loss.smoothing", recipe.loss.smoothing);
    below_one("train.ema", recipe.train.ema);
}

void check_batch(const Recipe& recipe) {
    if (translates(recipe)) return;  // any part of its sentences will do
    const std::int64_t batch = recipe.data.batch;
    const std::int64_t parts = recipe.optim.accumulate;
    require(parts < 1 || batch % parts == 0, "optim.accumulate",
            fmt::format("a divisor of data.batch {}, found {}", batch, parts));
    const AugmentPart& a = recipe.augment;
    require(!mixes(a) || batch % 2 == 0, "data.batch",
            fmt::format("an even number, as augment.{} pairs images, found {}",
                        a.mixup > 0    ? "mixup"
                        : a.cutmix > 0 ? "cutmix"
                                       : "mix_tokens",
                        batch));
}

void check_schedule(const Recipe& recipe) {
    const SchedulePart& s = recipe.schedule;
    const std::int64_t steps = recipe.train.steps;
    require(steps > 0 || s.warmup_steps > 0 || s.warmup <= s.epochs, "schedule.warmup",
            fmt::format("at most schedule.epochs {}, found {}", s.epochs, s.warmup));
    require(steps == 0 || s.warmup_steps <= steps, "schedule.warmup_steps",
            fmt::format("at most train.steps {}, found {}", steps, s.warmup_steps));
    require(steps == 0 || s.cooldown == 0, "schedule.cooldown",
            fmt::format("0 with train.steps, found {}", s.cooldown));
    // Only what is written is compared; what a small batch makes of it is told by the run.
    require((s.name != ScheduleKind::cosine && s.name != ScheduleKind::cosine_after_warmup &&
             s.name != ScheduleKind::poly) ||
                s.min_lr <= recipe.optim.lr,
            "schedule.min_lr",
            fmt::format("at most optim.lr {}, found {}", recipe.optim.lr, s.min_lr));
}

// What makes an image look different each time it is shown; empty: nothing does.
std::string randomness(const AugmentPart& a) {
    if (a.crop != CropKind::squash && a.crop != CropKind::evaluation)
        return fmt::format("augment.crop {}", crop_kind_name(a.crop));
    if (a.flip > 0) return fmt::format("augment.flip {}", a.flip);
    if (parse_policy(a.policy).index() != 0) return fmt::format("augment.policy {}", a.policy);
    if (ColourJitter::parse(a.jitter).active()) return fmt::format("augment.jitter {}", a.jitter);
    if (a.erase > 0) return fmt::format("augment.erase {}", a.erase);
    if (a.mixup > 0) return fmt::format("augment.mixup {}", a.mixup);
    if (a.cutmix > 0) return fmt::format("augment.cutmix {}", a.cutmix);
    if (a.mix_tokens > 0) return fmt::format("augment.mix_tokens {}", a.mix_tokens);
    return {};
}

void check_distillation(const Recipe& recipe) {
    const DistillPart& distill = recipe.distill;
    if (distill.kind == Distillation::none) return;
    require(!distill.teacher.empty(), "distill.teacher",
            "a model file or a preset, as distill.kind is not none");
    require(distill.kind != Distillation::tokens || !distill.cache, "distill.cache",
            "false, as labels of tokens are not kept");
    const std::string random = randomness(recipe.augment);
    require(!distill.cache || random.empty(), "distill.cache",
            fmt::format("images that are always shown alike, found {}", random));
}

// Several views of an image leave no single one to mix, to label by place or to ask a teacher
// about.
void check_views(const Recipe& recipe) {
    if (recipe.views.name == ViewsKind::none) return;
    require(!mixes(recipe.augment), "views.name",
            "none alongside augment.mixup, augment.cutmix and augment.mix_tokens");
    require(recipe.data.token_labels.empty(), "views.name", "none alongside data.token_labels");
    require(recipe.distill.kind == Distillation::none, "views.name", "none alongside distill.kind");
    require(!recipe.loss.cosub, "views.name", "none alongside loss.cosub");
}

// What runs as at evaluation cannot do what only training does.
void check_mode(const Recipe& recipe) {
    if (recipe.train.mode != "eval") return;
    require(!recipe.loss.cosub, "train.mode", "train with loss.cosub, whose submodels are drawn");
    require(recipe.augment.mix_tokens == 0, "train.mode", "train with augment.mix_tokens");
}

}  // namespace

bool mixes(const AugmentPart& a) { return a.mixup > 0 || a.cutmix > 0 || a.mix_tokens > 0; }

void check(const Recipe& recipe) {
    check_ranges(recipe);
    check_model(recipe.model.name, recipe.model.settings);
    check_batch(recipe);
    check_schedule(recipe);
    check_loss(recipe);
    check_distillation(recipe);
    check_views(recipe);
    check_mode(recipe);
    check_objective(recipe);
    const bool averages = recipe.train.ema > 0 || asks_for(recipe.loss, &ObjectiveTerm::averages);
    require(!is_of_average(recipe.save.best) || averages || recipe.save.average > 0, "save.best",
            fmt::format("train.ema or save.average above 0 for {}", recipe.save.best));
    require(recipe.save.average == 0 || !averages, "save.average",
            "0 alongside train.ema or a loss.name that averages the weights itself");
    require(recipe.train.patience == 0 || recipe.data.val != "none", "train.patience",
            "validation data, as it waits for a better result; found data.val none");
}

}  // namespace cait
