// One training step after the other, as in bench/train_peer.py: the CaiT that `./dev bench train`
// compares. Prints one JSON line per round; with --profile a last one with the share of each part.
#include <fmt/format.h>
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <nlohmann/json.hpp>

#include "cait/model.h"
#include "models/catalogue.h"
#include "train/optim/optimizer.h"
#include "train/parameters.h"
#include "train/torch/executor.h"
#include "train/torch/runtime.h"

namespace cait {
namespace {

struct Options {
    std::string precision = "fp32";
    std::string backend = "automatic";
    std::int64_t batch = 128;
    int rounds = 3;
    int threads = 2;
    bool profile = false;
};

double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

double peak_mib() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return double(usage.ru_maxrss) / 1024;
}

// Wall seconds of the parts of a step, and the kernels' seconds within them, of all threads.
struct Times {
    double forward = 0, backward = 0, optimizer = 0;
    double total() const { return forward + backward + optimizer; }
};

// Shares of the threads' time. "framework": what autograd, ATen and waiting take.
nlohmann::json shares(const Times& times, const kernels::Profile& profile, int threads) {
    nlohmann::json result;
    const double all = times.total() * threads;
    double kernel_seconds = 0;
    for (std::size_t i = 0; i < kernels::kPartNames.size(); ++i) {
        const double part = double(profile.nanoseconds(kernels::Part(i))) * 1e-9;
        kernel_seconds += part;
        result[kernels::kPartNames[i]] = part / all;
    }
    result["optimizer"] = times.optimizer / times.total();
    result["framework"] = 1 - kernel_seconds / all - times.optimizer / times.total();
    result["seconds"] = {
        {"forward", times.forward}, {"backward", times.backward}, {"optimizer", times.optimizer}};
    return result;
}

class Training {
public:
    explicit Training(const Options& options)
        : options_(options),
          model_(Model::create("cait_xxs24_224", {{"image_size", "32"},
                                                  {"patch", "4"},
                                                  {"depth", "12"},
                                                  {"class_layers", "2"},
                                                  {"classes", "100"},
                                                  {"drop_path", "0"}})),
          executor_(record(model_.spec(), {.mode = Mode::train})),
          params_(make_parameters(executor_.graph(), model_.weights(), recipe_)),
          tensors_(tensors_of(params_)),
          optimizer_(make_optimizer(recipe_.optim, params_)) {
        torch::manual_seed(0);
        images_ = torch::randn({options.batch, 3, 32, 32});
        labels_ = torch::randint(0, 100, {options.batch}, torch::kLong);
        if (options.precision == "bf16") context_.precision = Precision::bf16;
        if (options.backend == "aten") context_.backend = Backend::aten;
        if (options.profile) context_.profile = &profile_;
        context_.memory = std::make_shared<CpuMemory>();
        context_.weights_version = 0;
    }

    Times step() {
        Times times;
        const double start = seconds_now();
        optimizer_->zero_grad();
        const at::Tensor logits = executor_.run(images_, tensors_, context_).at("logits");
        const at::Tensor loss =
            torch::nn::functional::cross_entropy(logits.to(torch::kFloat), labels_);
        const double forward = seconds_now();
        loss.backward();
        const double backward = seconds_now();
        optimizer_->step(1e-3);
        const double end = seconds_now();
        context_.step++;
        ++*context_.weights_version;
        return {forward - start, backward - forward, end - backward};
    }

    void run() {
        step();  // warms up
        profile_.clear();
        Times sum;
        for (int round = 0; round < options_.rounds; ++round) {
            const Times times = step();
            sum.forward += times.forward;
            sum.backward += times.backward;
            sum.optimizer += times.optimizer;
            const nlohmann::json line = {
                {"images_per_second", double(options_.batch) / times.total()},
                {"peak_mib", peak_mib()},
                {"threads", options_.threads}};
            fmt::print("{}\n", line.dump());
            std::fflush(stdout);
        }
        if (options_.profile) fmt::print("{}\n", shares(sum, profile_, options_.threads).dump());
    }

private:
    Options options_;
    Recipe recipe_;
    Model model_;
    TorchExecutor executor_;
    std::vector<TrainParam> params_;
    TorchTensors tensors_;
    std::unique_ptr<Optimizer> optimizer_;
    at::Tensor images_, labels_;
    EvaluateContext context_;
    kernels::Profile profile_;
};

}  // namespace
}  // namespace cait

int main(int argc, char** argv) {
    cait::Options options;
    CLI::App app("Trains a small CaiT on random images and prints images per second");
    app.add_option("--precision", options.precision)->check(CLI::IsMember({"fp32", "bf16"}));
    app.add_option("--backend", options.backend)->check(CLI::IsMember({"automatic", "aten"}));
    app.add_option("--batch", options.batch)->check(CLI::PositiveNumber);
    app.add_option("--rounds", options.rounds)->check(CLI::PositiveNumber);
    app.add_option("--threads", options.threads)->check(CLI::PositiveNumber);
    app.add_flag("--profile", options.profile);
    CLI11_PARSE(app, argc, argv);
    cait::set_threads(options.threads);
    cait::keep_freed_memory();
    cait::Training(options).run();
}
