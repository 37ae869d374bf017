// LibTorch as an executor: on any device that it has, and to compare the engine with. No LibTorch
// in this header.
#pragma once

#include <memory>
#include <string>

#include "cait/model.h"
#include "cait/precision.h"
#include "models/executor.h"

namespace cait {

// `device` as LibTorch names them: "cpu", "cuda:0".
std::unique_ptr<Executor> make_torch_session(const Model& model, Precision precision,
                                             const std::string& device = "cpu");

}  // namespace cait
