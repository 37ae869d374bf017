// Linked into `cait-torch`: LibTorch as what runs a command's model.
#include "executor.h"
#include "kernels/precision_names.h"
#include "train/torch/runtime.h"
#include "train/torch/torch_session.h"

namespace cait::app {

std::unique_ptr<Executor> make_torch_executor(const Model& model, const ExecutorOptions& options) {
    use_all_cores();
    return make_torch_session(model, precision_of(options.precision));
}

// This is the program that has it.
void continue_in_torch(const Invocation&) {}

}  // namespace cait::app
