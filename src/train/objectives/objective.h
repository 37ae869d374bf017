// What training minimises, with whatever it remembers from step to step. The step (training_step.h)
// knows nothing else of a loss.
#pragma once

#include "train/torch/libtorch.h"

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/image_size.h"
#include "base/text_size.h"
#include "cait/model.h"
#include "data/batch.h"
#include "data/targets/label.h"
#include "train/distributed/process_group.h"
#include "train/label_maps.h"
#include "train/parameters.h"
#include "train/recipe/recipe.h"
#include "train/run/tensor_state.h"
#include "train/torch/executor.h"

namespace cait {

struct LossResult {
    at::Tensor total;                         // a scalar that backward() starts from
    std::map<std::string, at::Tensor> parts;  // detached scalars, and what is watched, by name
    at::Tensor correct;  // images whose class has the highest logit; undefined: nobody decides
    std::optional<std::int64_t> pieces = {};  // of sentences, that the total is a mean over
};

// Images or sentences of a batch that go through the network together, n of them, and what is known
// of them.
struct ObjectiveBatch {
    struct Views {
        at::Tensor pixels;  // [count * n, C, H, W], view-major
        std::int64_t count = 1;
    };
    std::vector<Views> views;  // groups by size; target networks and labels see the first
    TorchTensors inputs;       // [n, …] of a model without images, by its names; no views then
    TorchTensors targets;      // [n, …] by the names of data/targets/
    std::span<const SampleKey> keys;
    std::uint64_t epoch = 0;

    std::int64_t size() const { return std::int64_t(keys.size()); }
    // Undefined where the batch has none of that name.
    at::Tensor target(const std::string& name) const {
        const auto found = targets.find(name);
        return found == targets.end() ? at::Tensor() : found->second;
    }
};

// What a run knows of its data before the first step.
struct DataFacts {
    std::vector<std::int64_t> labels = {};   // of all training images
    std::vector<double> class_weights = {};  // empty: all count the same
    std::optional<LabelMapSize> maps = {};   // of the label maps that batches carry
    std::vector<ViewGroup> views = {};       // of every batch, without pixels; empty: one
    TargetList targets = {label_target()};   // of every batch
    std::optional<TextSize> longest = {};    // sentences of a batch, if there are no images
};

struct ObjectiveSetup {
    const Recipe& recipe;
    const Model& model;
    const DataFacts& data;
    std::string_view term;  // of recipe/objective_rows.h that is to be made
    ProcessGroup& group;    // outlives the objective
    at::Device device;
    Mode mode = Mode::train;
};

class Objective {
public:
    virtual ~Objective() = default;

    // The outputs of the network that it needs.
    virtual std::vector<std::string> taps() const = 0;
    // Outputs of the model that it computes itself, with graphs of its own, from other inputs than
    // images. Their parameters learn as the network's do.
    virtual std::vector<std::string> own_taps() const { return {}; }

    struct Needs {
        std::int64_t passes = 1;          // how often each image goes through the network at once
        bool every_view = false;          // outputs of all groups of views, not of the first alone
        bool shared_batch_norms = false;  // which take the statistics of all processes' images
        bool logs_parts = false;          // the parts of its loss stand in the records
        bool spread_state = false;        // each process has a share of what it remembers
    };
    virtual Needs needs() const { return {}; }
    virtual std::vector<std::string> notes() const { return {}; }  // for people
    virtual std::string teacher() const { return {}; }             // in words; empty: there is none

    // Once, before anything else that follows, with the network and its parameters as they start.
    virtual void start(const Graph& /*network*/, std::span<const TrainParam> /*params*/) {}
    // Before each batch, with all of it that this process has. Called by all processes.
    virtual void before_batch(const ObjectiveBatch& /*whole*/) {}
    // After that: how much of the images of the batch can be other than padding, from the upper
    // left corner; the network is then spared the rest where its parameters allow. Empty: all.
    virtual ImageSize shown() const { return {0, 0}; }
    // Before each pass through the network.
    virtual void before_pass(EvaluateContext& /*context*/) {}
    // `outputs`: by tap, one for each group of views that it needs. Called by all processes. What
    // it remembers from the batch waits until the step is taken.
    virtual LossResult loss(std::span<const TorchTensors> outputs, const ObjectiveBatch& batch,
                            const EvaluateContext& context) = 0;
    // Makes the targets of so many images such that the loss takes as much memory as it ever will.
    virtual void put_fullest_targets(std::int64_t /*images*/, TorchTensors& /*targets*/) const {}
    // What of its own is not finite, in words, once the loss is not; empty: nothing.
    virtual std::string first_bad(const ObjectiveBatch& /*batch*/) { return {}; }

    // Between the gradients and the optimiser.
    virtual void edit_gradients(std::span<TrainParam> /*params*/, std::uint64_t /*epoch*/) {}
    // The step was taken, or was not. Called by all processes.
    virtual void after_step(std::span<const TrainParam> /*params*/, double /*target_momentum*/) {}
    virtual void forget() {}

    // Why these parts of a loss mean that nothing is learned any more; empty: they do not.
    virtual std::string collapse(const std::map<std::string, double>& /*parts*/) const {
        return {};
    }
    // A model's parameters by name, where it keeps an average that is to be validated and saved.
    virtual TorchTensors average(std::span<const TrainParam> /*params*/) const { return {}; }
    // Of batch norms of its own; shared, not copied.
    virtual std::vector<at::Tensor> statistics() const { return {}; }

    // What it remembers, by name; shared where that is possible. Called by all processes.
    virtual TensorState state() const { return {}; }
    // Takes what is its own out of `state`. Throws Error for what is missing or does not fit.
    virtual void load_state(std::map<std::string, at::Tensor>& /*state*/) {}
};

// Takes an entry out of the state of a checkpoint. Throws Error where there is none.
at::Tensor take_entry(std::map<std::string, at::Tensor>& state, const std::string& name);

}  // namespace cait
