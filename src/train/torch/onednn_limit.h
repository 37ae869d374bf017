// Keeps oneDNN, whose products LibTorch uses, within CAIT_ISA and away from AMX where it would
// trap.
#pragma once

namespace cait {

// Applies system/cpu.h's onednn_cap() once. It has to come before the process's first oneDNN
// primitive, so every TorchExecutor calls it. A program's own ONEDNN_MAX_CPU_ISA or
// DNNL_MAX_CPU_ISA is left as it is. Throws Error when oneDNN was in use already and would run AMX
// code that traps here.
void limit_onednn();

}  // namespace cait
