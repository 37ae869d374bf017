#include "executor.h"

#include <algorithm>

#include "engine/engine_executor.h"
#include "kernels/precision_names.h"
#include "models/catalogue.h"
#include "output.h"

namespace cait::app {

void ExecutorOptions::add_to(CLI::App& command, Torch torch) {
    const OptionGroup group(command, kExecutionOptions);
    command.add_option("--precision", precision, "Number format of the products")
        ->check(CLI::IsMember(precision_names()))
        ->capture_default_str();
    if (torch == Torch::yes)
        command.add_option("--executor", executor, "What runs the model: our engine or LibTorch")
            ->check(CLI::IsMember({"engine", "torch"}))
            ->capture_default_str();
    command.add_option("--batch", batch, "Images that go through together")
        ->check(CLI::Range(1, 65536))
        ->default_str(batch == kBySize ? "32, up to 512 small ones" : std::to_string(batch));
    command.add_option(
        "--packed", cache,
        "File that keeps packed weights for the next start: made if it is not there");
}

ExecutorOptions ExecutorOptions::for_model(const Model& model) const {
    ExecutorOptions options = *this;
    if (batch == kBySize) {
        const ImageSize size = model.spec().architecture->common().image_size;
        const std::int64_t pixels = std::max<std::int64_t>(1, size.height * size.width);
        options.batch = std::size_t(std::clamp<std::int64_t>(32 * 224 * 224 / pixels, 32, 512));
    }
    return options;
}

void add_tta_option(CLI::App& command, std::string& tta) {
    command.add_option("--tta", tta, "flip: mean of the logits of image and mirror image")
        ->check(CLI::IsMember({"none", "flip"}))
        ->capture_default_str();
}

void hand_over_if_torch(const ExecutorOptions& options, const Invocation& invocation) {
    if (options.executor == "torch") continue_in_torch(invocation);
}

std::unique_ptr<Executor> make_executor(const Model& model, const ExecutorOptions& options,
                                        const std::vector<std::string>& keep) {
    if (options.executor == "torch" && !keep.empty())
        throw UsageError("quantize.keep: expected --executor engine, found torch");
    if (options.executor == "torch") return make_torch_executor(model, options);
    auto executor = std::make_unique<EngineExecutor>(
        model, SessionOptions{.precision = precision_of(options.precision),
                              .threads = options.threads,
                              .batch = options.batch,
                              .cache = options.cache,
                              .keep = keep});
    for (const std::string& note : executor->session().notes()) print_error("note: {}\n", note);
    return executor;
}

}  // namespace cait::app
