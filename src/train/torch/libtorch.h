// What we use of LibTorch: tensors, autograd, no_grad. <torch/torch.h> would take twice as long to
// parse. Precompiled for the folders that include it.
#pragma once

#include <torch/autograd.h>
#include <torch/types.h>
#include <torch/utils.h>
