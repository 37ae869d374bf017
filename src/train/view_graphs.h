// A network at the sizes of a batch's views: one recorded graph for each size, all with the same
// parameters. Positions are resized on the way in, so that what local views learn about them
// arrives at the parameter itself.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/image_size.h"
#include "base/position_rule.h"
#include "train/torch/executor.h"

namespace cait {

class ViewGraphs {
public:
    // The network for images of that size, heads included.
    using Recorder = std::function<Graph(ImageSize)>;

    // `own` is the size that the parameters are for; graphs of other sizes are recorded when they
    // are first used. DINO's code adds a tenth of a patch to the grid that positions are resized
    // to.
    ViewGraphs(Recorder record, ImageSize own, PositionRule rule = PositionRule::offset);

    // Of the size that the parameters are for.
    const TorchExecutor& own() const { return own_.executor; }

    // Of another one, for parameters as params_at() has them.
    const TorchExecutor& at(ImageSize size) { return entry(size).executor; }

    // The parameters as the graph of that size takes them. Only positions differ; their gradient
    // flows back to those of `params`.
    TorchTensors params_at(ImageSize size, const TorchTensors& params);

    // images [rows, C, H, W]. Throws UsageError where another parameter than positions depends on
    // the size (ResMLP; the loader then gives all views the model's own size).
    TorchTensors run(const at::Tensor& images, const TorchTensors& params,
                     const EvaluateContext& context);

private:
    struct Entry {
        TorchExecutor executor;
        std::map<std::string, at::Tensor> resize = {};  // [rows, rows of the parameter]
        std::map<std::string, std::vector<std::int64_t>> shapes = {};  // of the results
    };
    const Entry& entry(ImageSize size);
    Entry resized(ImageSize size) const;

    Recorder record_;
    ImageSize size_;
    PositionRule rule_;
    Entry own_;
    std::map<std::pair<std::int64_t, std::int64_t>, Entry> others_;  // by height and width
};

}  // namespace cait
