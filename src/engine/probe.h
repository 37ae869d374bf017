// Looks at values inside a computation: a few images at a time through a plan whose outputs are any
// nodes.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "engine/plan.h"

namespace cait::engine {

class Probe {
public:
    static constexpr Index kTogether = 8;  // images: the values of all layers are kept of these

    Probe(const Computation& computation, kernels::Format format, int threads,
          const std::shared_ptr<WeightStore>& store = {})
        : plan_(computation, {.format = format, .batch = kTogether, .threads = threads}, store) {}

    // All outputs of `images`, at most kTogether of them.
    std::map<std::string, Tensor> run(const Tensor& images) const;

private:
    Plan plan_;
};

// Images [first, first + kTogether), or as many as there are; the last ones may be fewer.
Tensor some_images(const Tensor& images, Index first);

}  // namespace cait::engine
