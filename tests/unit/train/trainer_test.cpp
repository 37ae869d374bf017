// Whole runs whose every number can be written down: all images are black, so that a frozen trunk
// gives one vector f and the head z = W f + b is all that learns. Plain gradient descent moves W
// along f alone; two numbers per class say everything about a run at any step.
#include "train/trainer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <csignal>
#include <numbers>
#include <numeric>

#include "image/codec/encode.h"
#include "report/metrics_log.h"
#include "support/temporary_folder.h"
#include "train/recipe/recipe_file.h"
#include "train/run/run_folder.h"
#include "train/run/run_state.h"
#include "train/torch/convert.h"

namespace cait {
namespace {

using testing::ElementsAre;

constexpr std::size_t kSteps = 3;  // of an epoch: twelve images, four in a batch
constexpr double kNear = 2e-5;

const SettingList kTiny{{"image_size", "16"}, {"patch", "8"}, {"dim", "16"},
                        {"depth", "1"},       {"heads", "2"}, {"classes", "2"},
                        {"class_layers", "1"}};

// W = alpha f, b = bias, for the classes "a" and "b".
struct Head {
    std::array<double, 2> alpha{}, bias{};
};

double probability_of_b(const Head& head, double square) {
    const double a = head.alpha[0] * square + head.bias[0];
    const double b = head.alpha[1] * square + head.bias[1];
    return 1 / (1 + std::exp(a - b));
}

// Of a validation set of one image of "a" and three of "b".
double validation_loss(double p) { return -(std::log(1 - p) + 3 * std::log(p)) / 4; }
double validation_top1(double p) { return p > 0.5 ? 0.75 : 0.25; }

struct Hand {
    std::vector<double> losses, rates, hits;  // of each step; hits: 0 or 1, of all images
    std::vector<Head> heads, averages;        // after it
};

// A run on images of "b" alone, step after step.
Hand by_hand(const Recipe& recipe, double square, const Head& start) {
    const OptimPart& optim = recipe.optim;
    const SchedulePart& schedule = recipe.schedule;
    const double last = schedule.epochs * kSteps, warmup = schedule.warmup * kSteps;
    const auto half_cosine = [&](double from, double to, double t) {
        return to + 0.5 * (from - to) * (1 + std::cos(std::numbers::pi * std::min(t / last, 1.0)));
    };
    Hand hand;
    Head now = start, average = start;
    for (double t = 0; t < last + schedule.cooldown * kSteps; ++t) {
        double rate = optim.lr;
        if (schedule.name == ScheduleKind::cosine)
            rate = t < warmup ? schedule.warmup_lr + t / warmup * (optim.lr - schedule.warmup_lr)
                              : half_cosine(optim.lr, schedule.min_lr, t);
        const double decay = optim.weight_decay_end < 0
                                 ? optim.weight_decay
                                 : half_cosine(optim.weight_decay, optim.weight_decay_end, t);
        const double p = probability_of_b(now, square);
        hand.losses.push_back(-std::log(p));
        hand.rates.push_back(rate);
        hand.hits.push_back(p > 0.5 ? 1 : 0);
        const std::array<double, 2> slope{1 - p, p - 1};
        for (std::size_t k = 0; k < 2; ++k) {
            now.alpha[k] -= rate * (slope[k] + decay * now.alpha[k]);
            now.bias[k] -= rate * slope[k];  // a vector does not decay
            average.alpha[k] += (1 - recipe.train.ema) * (now.alpha[k] - average.alpha[k]);
            average.bias[k] += (1 - recipe.train.ema) * (now.bias[k] - average.bias[k]);
        }
        hand.heads.push_back(now);
        hand.averages.push_back(average);
    }
    return hand;
}

class TrainerByHand : public testing::Test {
protected:
    TrainerByHand() {
        for (int i = 0; i < 12; ++i) write_image(image(i), Image::blank(16, 16, 3));
        write_file(folder_ / "names.txt", "a\nb\n");
        list("train.csv", 0, 12);
        list("val.csv", 1, 3);
        start_at({.alpha = {}, .bias = {3, 0}});
        recipe_.model.name = "cait_xxs24_224";
        recipe_.model.settings = kTiny;
        recipe_.model.weights = (folder_ / "start.safetensors").string();
        recipe_.data.train = data("train.csv");
        recipe_.data.val = data("val.csv");
        recipe_.data.batch = 4;
        recipe_.data.mean = "data";
        recipe_.optim = {.name = OptimizerKind::sgd,
                         .lr = 0.02,
                         .lr_batch = 0,
                         .weight_decay = 0,
                         .momentum = 0};
        recipe_.schedule = {
            .name = ScheduleKind::constant, .epochs = 6, .warmup = 0, .min_lr = 0.02};
        recipe_.train.tune = Tune::head;
        recipe_.train.ema = 0.8;
        recipe_.save.keep_every = 1;
    }

    std::filesystem::path image(int i) const { return folder_ / (std::to_string(i) + ".png"); }
    std::string data(const std::string& file) const {
        return "csv:" + (folder_ / file).string() + "?classes=" + (folder_ / "names.txt").string();
    }
    // The first images are of "a", the next ones of "b".
    void list(const std::string& file, int of_a, int of_b) const {
        std::string rows = "path,label\n";
        for (int i = 0; i < of_a + of_b; ++i)
            rows += std::to_string(i) + (i < of_a ? ".png,a\n" : ".png,b\n");
        write_file(folder_ / file, rows);
    }

    void start_at(const Head& head) {
        start_ = head;
        Model model = Model::create("cait_xxs24_224", kTiny, 1);
        model.set_classes({"a", "b"});
        const at::Tensor features = to_torch(
            forward(model, Tensor::zeros(DType::f32, {1, 3, 16, 16}), {.taps = {"features"}})
                .at("features"));
        features_ = features.flatten().to(at::kDouble).clone();
        square_ = features_.square().sum().item<double>();
        std::map<std::string, Tensor> weights = model.weights();
        weights["head.weight"] = Tensor::zeros(DType::f32, {2, 16});
        weights["head.bias"] =
            Tensor::of({2}, std::vector<float>{float(head.bias[0]), float(head.bias[1])});
        model.with_weights(std::move(weights)).save(folder_ / "start.safetensors");
    }

    TrainOutcome run(const std::string& name = "run", const std::function<int()>& stop = {},
                     bool resume = false) {
        TrainOptions options;
        options.folder = folder_ / name;
        options.resume = resume;
        if (stop) options.stop = stop;
        options.observer.epoch = [&](const EpochReport& report) { epochs_.push_back(report); };
        options.observer.step = [&](const StepReport& report) { steps_.push_back(report); };
        return train(recipe_, options);
    }

    std::vector<MetricsRecord> records(const std::string& kind) const {
        std::vector<MetricsRecord> found = read_metrics(folder_ / "run/metrics.jsonl");
        std::erase_if(found, [&](const MetricsRecord& one) { return one.kind != kind; });
        return found;
    }
    std::vector<double> validated() const {
        std::vector<double> epochs;
        for (const MetricsRecord& record : records("val")) epochs.push_back(record.epoch);
        return epochs;
    }
    bool has(const std::string& file) const {
        return std::filesystem::exists(folder_ / ("run/" + file));
    }
    Model saved(const std::string& file) const { return Model::load(folder_ / ("run/" + file)); }

    void expect_head(const std::string& file, const Head& head) const {
        const Model model = saved(file);
        const at::Tensor weight = to_torch(model.weights().at("head.weight")).to(at::kDouble);
        for (std::int64_t k = 0; k < 2; ++k) {
            const at::Tensor expected = head.alpha[std::size_t(k)] * features_;
            EXPECT_LT((weight[k] - expected).abs().max().item<double>(), kNear) << file;
            EXPECT_NEAR(model.weights().at("head.bias").floats()[std::size_t(k)],
                        head.bias[std::size_t(k)], kNear)
                << file;
        }
    }

    double p_after(const std::vector<Head>& heads, std::size_t epoch) const {
        return probability_of_b(heads.at(epoch * kSteps - 1), square_);
    }

    TemporaryFolder folder_;
    Recipe recipe_;
    Head start_;
    at::Tensor features_;
    double square_ = 0;  // of the features
    std::vector<EpochReport> epochs_;
    std::vector<StepReport> steps_;
};

TEST_F(TrainerByHand, LogsLossAndRateOfEveryStepAndMovesBothAlongTheirCurves) {
    recipe_.optim.weight_decay = 0.5;
    recipe_.optim.weight_decay_end = 3;
    recipe_.schedule = {.epochs = 5, .warmup = 1, .warmup_lr = 0.002, .min_lr = 0.003};
    recipe_.schedule.cooldown = 1;
    const Hand hand = by_hand(recipe_, square_, start_);
    // The same rate for a batch of twice the size, which this run has not: it halves, its ends
    // stay.
    recipe_.optim.lr_batch = 8;
    recipe_.optim.lr *= 2;
    const TrainOutcome outcome = run();
    EXPECT_EQ(outcome.steps, 18U);

    const std::vector<MetricsRecord> train = records("train");
    ASSERT_EQ(train.size(), 18U);
    for (std::size_t t = 0; t < train.size(); ++t) {
        EXPECT_EQ(train[t].step, std::int64_t(t) + 1);
        EXPECT_NEAR(train[t].values.at(metric::kLoss), hand.losses[t], kNear) << t;
        EXPECT_NEAR(train[t].values.at(metric::kLr), hand.rates[t], 1e-12) << t;
        // Of the epoch so far, for those who watch.
        double so_far = 0;
        for (std::size_t i = t / kSteps * kSteps; i <= t; ++i) so_far += hand.losses[i];
        EXPECT_NEAR(steps_.at(t).loss, so_far / double(t % kSteps + 1), kNear) << t;
        EXPECT_EQ(train[t].values.at(metric::kAccuracy), hand.hits[t]) << t;
        EXPECT_EQ(steps_[t].lr, train[t].values.at(metric::kLr));
    }
    const std::vector<MetricsRecord> val = records("val");
    ASSERT_EQ(val.size(), 6U);
    ASSERT_EQ(epochs_.size(), 6U);
    for (std::size_t e = 1; e <= 6; ++e) {
        const EpochReport& report = epochs_[e - 1];
        EXPECT_NEAR(report.train_loss, steps_[e * kSteps - 1].loss, 1e-12);
        EXPECT_NEAR(report.lr, hand.rates[e * kSteps - 1], 1e-12);
        EXPECT_NEAR(report.train_accuracy,
                    std::accumulate(hand.hits.begin() + std::ptrdiff_t((e - 1) * kSteps),
                                    hand.hits.begin() + std::ptrdiff_t(e * kSteps), 0.0) /
                        kSteps,
                    1e-12);
        const double p = p_after(hand.heads, e), average = p_after(hand.averages, e);
        EXPECT_NEAR(find_score(*report.val, "loss")->value, validation_loss(p), kNear) << e;
        EXPECT_NEAR(find_score(*report.val_ema, "loss")->value, validation_loss(average), kNear)
            << e;
        EXPECT_EQ(find_score(*report.val, "top1")->value, validation_top1(p)) << e;
        EXPECT_NEAR(val[e - 1].values.at(metric::kLoss), validation_loss(p), kNear) << e;
        EXPECT_NEAR(val[e - 1].values.at("loss_ema"), validation_loss(average), kNear) << e;
        expect_head("epoch-000" + std::to_string(e) + ".safetensors", hand.heads[e * kSteps - 1]);
        expect_head("epoch-000" + std::to_string(e) + "_ema.safetensors",
                    hand.averages[e * kSteps - 1]);
    }
    expect_head("last.safetensors", hand.heads.back());
    expect_head("last_ema.safetensors", hand.averages.back());
    // The moving decay leaves another head than one that stays: this would be seen.
    recipe_.optim.weight_decay_end = OptimPart::kDecayStays;
    for (double* rate : {&recipe_.optim.lr, &recipe_.schedule.warmup_lr, &recipe_.schedule.min_lr})
        *rate /= 2;
    EXPECT_GT(by_hand(recipe_, square_, start_).heads.back().alpha[1] - hand.heads.back().alpha[1],
              100 * kNear);
}

struct Choice {
    const char* by;
    std::size_t epoch;  // the first with the highest score
};

class TrainerBest : public TrainerByHand, public testing::WithParamInterface<Choice> {};

TEST_P(TrainerBest, IsTheFirstEpochWithTheHighestScore) {
    const auto& [by, expected] = GetParam();
    recipe_.save.best = by;
    const TrainOutcome outcome = run();
    const Hand hand = by_hand(recipe_, square_, start_);
    const bool averaged = recipe_.save.best == "top1_ema";
    const std::vector<Head>& heads = averaged ? hand.averages : hand.heads;
    std::size_t best = 0;
    double highest = -INFINITY;
    for (std::size_t e = 1; e <= 6; ++e) {
        const double p = p_after(heads, e);
        const double score = recipe_.save.best == "loss"   ? -validation_loss(p)
                             : recipe_.save.best == "top5" ? 1
                                                           : validation_top1(p);
        if (score > highest + kNear) {
            best = e;
            highest = score;
            EXPECT_TRUE(epochs_.at(e - 1).best) << e;
        } else {
            EXPECT_FALSE(epochs_.at(e - 1).best) << e;
        }
    }
    ASSERT_EQ(best, expected) << "the run is not the one that this test was made for";
    expect_head("best.safetensors", heads[best * kSteps - 1]);
    const std::map<std::string, std::string> facts = saved("best.safetensors").training();
    EXPECT_EQ(facts.at("epochs"), std::to_string(best) + ".00");
    EXPECT_EQ(facts.at("steps"), std::to_string(best * kSteps));
    EXPECT_EQ(facts.at("chosen_by"), by);
    EXPECT_NEAR(std::stod(facts.at("val_loss")), validation_loss(p_after(heads, best)), 1e-4);
    EXPECT_NEAR(outcome.best.value(), highest, kNear);
    EXPECT_EQ(outcome.best_epoch->epoch, double(best));
    EXPECT_EQ(outcome.final_epoch->epoch, 6);
}

INSTANTIATE_TEST_SUITE_P(By, TrainerBest,
                         testing::Values(Choice{"top1", 2}, Choice{"top5", 1}, Choice{"loss", 3},
                                         Choice{"top1_ema", 4}),
                         [](const auto& i) { return std::string(i.param.by); });

TEST_F(TrainerByHand, FollowsTheScoreThatLeadsItsTaskWhereNoneIsNamed) {
    ASSERT_EQ(recipe_.save.best, "auto");
    const TrainOutcome outcome = run();
    EXPECT_EQ(outcome.best_by, "top1");
    EXPECT_EQ(outcome.best_epoch->epoch, 2);  // as with top1 above
    EXPECT_EQ(saved("best.safetensors").training().at("chosen_by"), "top1");
    EXPECT_EQ(read_run_recipe(RunFiles(Folder::open(folder_ / "run")).recipe()).save.best, "top1");
}

TEST_F(TrainerByHand, RefusesToFollowAScoreThatValidationDoesNotYield) {
    recipe_.save.best = "map";
    recipe_.train.ema = 0;
    try {
        run();
        ADD_FAILURE() << "expected an error";
    } catch (const UsageError& error) {
        EXPECT_STREQ(error.what(), "save.best: expected one of top1, top5, loss, ece; found 'map'");
    }
    EXPECT_TRUE(steps_.empty());
}

TEST_F(TrainerByHand, ValidatesEverySoManyEpochsAndAtTheEnd) {
    recipe_.schedule.epochs = 5;
    recipe_.eval.every = 2;
    run();
    EXPECT_THAT(validated(), ElementsAre(2, 4, 5));
    for (const EpochReport& report : epochs_)
        EXPECT_EQ(report.val.has_value(), report.epoch != 0 && report.epoch != 2) << report.epoch;
}

struct Patience {
    const char* best;
    std::int64_t patience, every;
    std::vector<double> validated;
    std::size_t epochs;  // that are run
};

class TrainerPatience : public TrainerByHand, public testing::WithParamInterface<Patience> {};

// top1 rises after epoch 2 for the last time, top5 never does.
TEST_P(TrainerPatience, EndsTheRunAtTheValidationThatIsSoManyEpochsLate) {
    const Patience& one = GetParam();
    recipe_.schedule.epochs = 8;
    recipe_.save.best = one.best;
    recipe_.train.patience = one.patience;
    recipe_.eval.every = one.every;
    const TrainOutcome outcome = run();
    EXPECT_EQ(validated(), one.validated);
    EXPECT_EQ(epochs_.size(), one.epochs);
    EXPECT_EQ(outcome.patience_ran_out, one.epochs < 8);
    EXPECT_EQ(outcome.stopped_by, 0);
    EXPECT_FALSE(has("epoch-000" + std::to_string(one.epochs + 1) + ".safetensors"));
    EXPECT_EQ(run("run", {}, true).steps, 0U);  // it is over
}

INSTANTIATE_TEST_SUITE_P(Of, TrainerPatience,
                         testing::Values(Patience{"top1", 2, 1, {1, 2, 3, 4}, 4},
                                         Patience{"top5", 1, 1, {1, 2}, 2},
                                         Patience{"top1", 1, 3, {3, 6}, 6},
                                         Patience{"top1", 4, 3, {3, 6, 8}, 8}),
                         [](const auto& i) {
                             return fmt::format("{}For{}EpochsValidatedEvery{}", i.param.best,
                                                i.param.patience, i.param.every);
                         });

TEST_F(TrainerByHand, ARunThatGoesOnRemembersItsBestEpoch) {
    recipe_.train.patience = 3;
    int steps = 0;
    const TrainOutcome stopped = run("run", [&] { return ++steps == 10 ? SIGTERM : 0; });
    EXPECT_EQ(stopped.stopped_by, SIGTERM);
    const TrainOutcome outcome = run("run", {}, true);
    EXPECT_TRUE(outcome.patience_ran_out);
    EXPECT_EQ(outcome.steps, 15U - 10U);  // to the end of epoch 5
    const Hand hand = by_hand(recipe_, square_, start_);
    expect_head("best.safetensors", hand.heads[2 * kSteps - 1]);
    expect_head("last.safetensors", hand.heads[5 * kSteps - 1]);
    // The epoch in which it was stopped counts whole.
    double sum = 0;
    for (std::size_t t = 3 * kSteps; t < 4 * kSteps; ++t) sum += hand.losses[t];
    EXPECT_NEAR(epochs_.at(3).train_loss, sum / kSteps, kNear);
}

// Six of "b" pull as much as two of "a" by their inverse shares: a head that starts at zero stays
// there. Without weights the majority wins.
TEST_F(TrainerByHand, RareClassesCountMore) {
    list("train.csv", 2, 6);
    recipe_.data.batch = 8;
    recipe_.train.ema = 0;
    recipe_.optim.accumulate = 4;  // a part may have no image of "a"
    start_at({});
    const double ln2 = std::numbers::ln2;
    for (const ClassWeights kind :
         {ClassWeights::inverse, ClassWeights::root, ClassWeights::none}) {
        recipe_.loss.class_weights = kind;
        std::filesystem::remove_all(folder_ / "run");
        epochs_.clear();
        run();
        // Mean over the images of weight times cross-entropy, a step for each epoch.
        const double ratio = kind == ClassWeights::inverse ? 3
                             : kind == ClassWeights::root  ? std::sqrt(3.0)
                                                           : 1;  // of a's weight to b's
        const double of_b = 8 / (2 * ratio + 6), of_a = ratio * of_b;
        double distance = 0;  // from the logit of a to that of b
        for (const EpochReport& report : epochs_) {
            const double p = 1 / (1 + std::exp(-distance));
            const double loss = -(2 * of_a * std::log(1 - p) + 6 * of_b * std::log(p)) / 8;
            EXPECT_NEAR(report.train_loss, loss, kNear) << int(kind) << " " << report.epoch;
            const double slope = (2 * of_a * p - 6 * of_b * (1 - p)) / 8;
            distance -= 2 * recipe_.optim.lr * (square_ + 1) * slope;
        }
        const double share = epochs_.back().train_loss / ln2;
        EXPECT_TRUE(kind != ClassWeights::inverse || std::abs(share - 1) < kNear) << share;
        EXPECT_TRUE(kind != ClassWeights::none || share < 0.9) << share;
    }
}

// Where nothing comes in, a patch embedding has no gradient: it decays, and the target network
// follows it.
TEST_F(TrainerByHand, ATargetNetworkFollowsAtAPaceOfItsOwn) {
    recipe_.loss.name = "instance";
    recipe_.views = {.name = ViewsKind::same, .count = 2};
    recipe_.head = {.kind = HeadKind::linear, .outputs = 8};
    recipe_.data.val = "none";
    recipe_.train.tune = Tune::all;
    recipe_.train.ema = 0;
    recipe_.schedule.epochs = 2;
    recipe_.optim.weight_decay = 1;
    recipe_.optim.weight_decay_end = 5;
    recipe_.target = {.momentum = 0.5, .momentum_end = 0.9};
    const std::string name = "patch_embed.proj.weight";
    const at::Tensor start =
        to_torch(Model::load(folder_ / "start.safetensors").weights().at(name)).clone();
    run();
    double own = 1, target = 1;  // times the start
    for (double t = 0; t < 6; ++t) {
        const double left = 0.5 * (1 + std::cos(std::numbers::pi * t / 6));
        own *= 1 - recipe_.optim.lr * (5 + (1 - 5) * left);
        const double kept = 0.9 + (0.5 - 0.9) * left;
        target = kept * target + (1 - kept) * own;
    }
    const RunState state = load_state(folder_ / "run/state.safetensors");
    const auto expect = [&](const std::string& of, double factor) {
        const at::Tensor found = to_torch(state.tensors.at(of));
        EXPECT_LT((found - factor * start).abs().max().item<double>(), 1e-6) << of << factor;
    };
    expect("weights." + name, own);
    expect("views.target." + name, target);
}

}  // namespace
}  // namespace cait
