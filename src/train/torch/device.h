// The device of a run: found out before anything is done with it, because LibTorch refuses one only
// when it is first used, with a trace of its own calls.
#pragma once

#include <c10/core/Device.h>

#include <string>

namespace cait {

// "cpu", "cuda:0", …; throws UsageError that starts with `key` for what LibTorch does not know or
// this machine does not have.
at::Device usable_device(const std::string& name, const std::string& key);

}  // namespace cait
