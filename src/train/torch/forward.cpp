// cait/train.h: a forward pass over as many images as are given, a batch at a time.
#include "cait/error.h"
#include "cait/train.h"
#include "train/torch/torch_session.h"

namespace cait {

std::map<std::string, Tensor> forward(const Model& model, const Tensor& images,
                                      const ForwardOptions& options) {
    if (options.batch == 0) throw UsageError("batch: expected at least 1, found 0");
    return run_in_batches(*make_torch_session(model, options.precision), images, options.taps,
                          options.batch, options.progress);
}

}  // namespace cait
