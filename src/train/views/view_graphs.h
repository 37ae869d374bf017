// A network at the sizes of a batch's views: one recorded graph for each size, all with the same
// parameters. Positions are resized on the way in, so that what local views learn about them
// arrives at the parameter itself.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "base/image_size.h"
#include "base/position_rule.h"
#include "data/batch.h"
#include "train/torch/executor.h"

namespace cait {

class ViewGraphs {
public:
    // The network for images of that size, heads included.
    using Recorder = std::function<Graph(ImageSize)>;

    // `own` is the size that the parameters are for. DINO's code adds a tenth of a patch to the
    // grid that positions are resized to. Throws UsageError where another parameter than positions
    // depends on the size (ResMLP; the loader then gives all views the model's own size).
    ViewGraphs(const Recorder& record, ImageSize own, std::span<const ViewTransform::Group> groups,
               PositionRule rule = PositionRule::offset);

    // Of the size that the parameters are for.
    const TorchExecutor& own() const { return at(own_); }
    // Throws Error for a size that was not among the groups.
    const TorchExecutor& at(ImageSize size) const { return entry(size).executor; }

    // The parameters as the graph of that size takes them. Only positions differ; their gradient
    // flows back to those of `params`.
    TorchTensors params_at(ImageSize size, const TorchTensors& params) const;

    // images [rows, C, H, W] of one of the sizes.
    TorchTensors run(const at::Tensor& images, const TorchTensors& params,
                     const EvaluateContext& context) const;

private:
    struct Entry {
        TorchExecutor executor;
        std::map<std::string, at::Tensor> resize;                 // [rows, rows of the parameter]
        std::map<std::string, std::vector<std::int64_t>> shapes;  // of the results
    };
    const Entry& entry(ImageSize size) const;
    Entry resized(Graph graph, ImageSize size, PositionRule rule) const;

    ImageSize own_;
    std::map<std::pair<std::int64_t, std::int64_t>, Entry> entries_;  // by height and width
};

}  // namespace cait
