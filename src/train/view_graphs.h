// A network at the sizes of what a batch holds: one recorded graph for each size of its views, or
// for each length of its sentences, all with the same parameters. Positions are resized on the way
// in, so that what local views learn about them arrives at the parameter itself.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>

#include "base/image_size.h"
#include "base/position_rule.h"
#include "base/text_size.h"
#include "train/torch/executor.h"

namespace cait {

// What a graph is recorded for: images of a size, or sentences of some lengths.
struct GraphSize {
    GraphSize(ImageSize size) : image(size) {}
    GraphSize(TextSize size) : image{0, 0}, text(size) {}
    // Of what a network is run on.
    static GraphSize of(const NamedInputs<at::Tensor>& inputs);

    ImageSize image;
    TextSize text;  // none of images
    bool operator==(const GraphSize&) const = default;
};

class ViewGraphs {
public:
    // The network at that size, heads included.
    using Recorder = std::function<Graph(const GraphSize&)>;

    // `own` is the size that the parameters are for; graphs of other sizes are recorded when they
    // are used, and the kMostSizes that were used last stay. DINO's code adds a tenth of a patch to
    // the grid that positions are resized to.
    ViewGraphs(Recorder record, GraphSize own, PositionRule rule = PositionRule::offset);

    static constexpr std::size_t kMostSizes = 64;

    // Of the size that the parameters are for.
    const TorchExecutor& own() const { return own_.executor; }

    // Of another one, for parameters as params_at() has them; good until the next is asked for.
    const TorchExecutor& at(const GraphSize& size) { return entry(size).executor; }

    // The parameters as the graph of that size takes them. Only positions differ; their gradient
    // flows back to those of `params`.
    TorchTensors params_at(const GraphSize& size, const TorchTensors& params);

    // images [rows, C, H, W], or what a model of sentences takes. Throws UsageError where another
    // parameter than positions depends on the size (ResMLP; the loader then gives all views the
    // model's own size).
    TorchTensors run(const NamedInputs<at::Tensor>& inputs, const TorchTensors& params,
                     const EvaluateContext& context);

private:
    struct Entry {
        TorchExecutor executor;
        std::map<std::string, at::Tensor> resize = {};  // [rows, rows of the parameter]
        std::map<std::string, std::vector<std::int64_t>> shapes = {};  // of the results
        std::uint64_t used = 0;  // when it was last: a number that rises
    };
    const Entry& entry(const GraphSize& size);
    Entry resized(const GraphSize& size) const;
    void make_room();

    using Key = std::tuple<std::int64_t, std::int64_t, TextSize>;  // height, width
    Recorder record_;
    GraphSize size_;
    PositionRule rule_;
    Entry own_;
    std::map<Key, Entry> others_;
    std::uint64_t uses_ = 0;
};

}  // namespace cait
