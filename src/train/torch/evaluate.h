// One op on LibTorch tensors. Everything here is differentiable.
#pragma once

#include "train/torch/libtorch.h"

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "cait/train.h"
#include "data/deal.h"
#include "graph/graph.h"
#include "kernels/profile.h"
#include "train/torch/cpu_memory.h"
#include "train/torch/synced_batch_norm.h"

namespace cait {

// automatic: our kernels where they apply, else ATen. CAIT_BACKEND=aten switches them off too.
enum class Backend { automatic, aten };

struct EvaluateContext {
    Mode mode = Mode::infer;  // of the graph; batch norms ask for it
    // The trunk does not learn, as in a linear probe: batch norms use their running statistics and
    // leave them alone, and nothing is dropped.
    bool frozen = false;
    // Batch norms that do not learn use their running statistics and leave them alone.
    bool frozen_norms = false;
    Precision precision = Precision::fp32;
    // The linear layers that the engine computes in int8 see values rounded so, in float32.
    bool quantize = false;
    const std::set<std::string>* quantized_nodes = nullptr;  // their names: the executor knows
    std::uint64_t seed = 0;  // stochastic depth is a pure function of seed, step, node and image
    std::uint64_t step = 0;
    // Where these images stand in the whole batch, of which other processes or other parts of an
    // accumulated step have the rest: they are those from number `first_image` on of the process's
    // own, whose places `deal` knows.
    std::uint64_t first_image = 0;
    Deal deal = {};
    // Where the rows are several passes or views of the same `pass_rows` images, pass after pass:
    // each pass has numbers of its own after those of the `pass_images` that all parts together
    // have, and of `passes_before`. 0: every row is another image.
    std::uint64_t pass_rows = 0;
    std::uint64_t pass_images = 0;
    std::uint64_t passes_before = 0;
    std::uint64_t place_of(std::uint64_t row) const {
        const std::uint64_t pass = pass_rows == 0 ? 0 : row / pass_rows;
        const std::uint64_t image = first_image + row - pass * pass_rows;
        return (passes_before + pass) * pass_images * deal.world + deal.place(image, pass_images);
    }
    // What images exchange with the one at the other end of these, where the graph mixes tokens, in
    // places of its patch grid; an empty box: nothing.
    GridBox token_box = {};
    Backend backend = Backend::automatic;
    kernels::Profile* profile = nullptr;  // gets the kernels' time, for whoever asks
    // Scratch memory and packed weights from one run to the next; without it each run has its own.
    std::shared_ptr<CpuMemory> memory = {};
    // Another number whenever the values of a parameter have changed; runs with the same memory and
    // the same number use the weights that are packed already. Without it they are packed each
    // time.
    std::optional<std::uint64_t> weights_version = {};
    // With it, batch norms in training take the statistics of all processes' images.
    SumOverProcesses sum_over_processes{};
    // Sees the result of every node, as it was recorded: nothing is fused then.
    std::function<void(const Node&, const at::Tensor&)> watch{};
};

// Whether there is a case for it. A composite without one has to be decomposed first.
bool has_torch_form(const Op& op);

// Input and Param are leaves: whoever walks the graph supplies them.
at::Tensor evaluate(const Node& node, std::span<const at::Tensor> inputs,
                    const EvaluateContext& context);

}  // namespace cait
