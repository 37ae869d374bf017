#include "detect_options.h"

#include "kernels/precision_names.h"

namespace cait::app {

DetectOptions detect_options(const SegmentArguments& sides, const std::string& model) {
    sides.expect_sides_alone(model);
    DetectOptions options;
    options.short_side = sides.short_side;
    options.long_side = sides.long_side;
    return options;
}

ImageDetector make_detector(const Model& model, const DetectOptions& options,
                            const ExecutorOptions& running, std::unique_ptr<Executor>& executor) {
    if (running.executor == "torch") {
        executor = make_executor(model, running);
        return {*executor, DetectNetwork::of(model), options, running.threads};
    }
    return {model,
            SessionOptions{.precision = precision_of(running.precision),
                           .threads = running.threads,
                           .cache = running.cache},
            options};
}

}  // namespace cait::app
