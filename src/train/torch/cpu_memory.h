// What the CPU functions of this folder keep from one call to the next: scratch memory, and weights
// in the form that products read. A caller that runs a graph again and again owns one and hands it
// on in the EvaluateContext; it serves one run at a time.
#pragma once

#include "train/torch/libtorch.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_set>

#include "kernels/packed_matrix.h"
#include "kernels/workspace.h"

namespace cait {

class CpuMemory {
public:
    enum class Direction { forward, backward };

    kernels::Workspace& workspace() { return workspace_; }

    // The parameters of the runs that follow. Only their packed forms are kept: another weight is a
    // result, whose memory may hold something else the next time.
    void set_parameters(const std::map<std::string, at::Tensor>& parameters);

    // weight [outputs, inputs], float32 and contiguous, for y = x · weight^T or for dx = dy ·
    // weight (dy scaled by `gain` [outputs] first, if defined; a weight comes with the same gain
    // always). A parameter that was packed under the same version is not packed again. The result
    // of a weight that is not kept stands until the fourth call after it.
    kernels::PackedView packed(const at::Tensor& weight, Direction direction,
                               kernels::Format format, std::optional<std::uint64_t> version,
                               int threads, const at::Tensor& gain = {});

private:
    struct Entry {
        kernels::PackedMatrix matrix;
        std::optional<std::uint64_t> version;
    };
    using Key = std::tuple<const float*, Direction, kernels::Format>;

    kernels::Workspace workspace_;
    std::unordered_set<const void*> parameters_;
    std::map<Key, Entry> kept_;
    std::array<kernels::PackedMatrix, 4> passing_;
    std::size_t next_ = 0;
};

}  // namespace cait
