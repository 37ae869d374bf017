// Programs beside `cait` that have a large library linked in: a command that needs it goes on
// there.
#pragma once

#include <string>

#include "command.h"

namespace cait::app {

// Becomes the program of that name with the same words, and does not come back. It lies beside this
// one, or in libexec when installed; an Error says why it is missing (`without`) where it is not
// there.
[[noreturn]] void continue_as(const std::string& program, const std::string& without,
                              const Invocation& invocation);

// Called before: lets OpenBLAS, which reads this while it is being loaded, use this processor.
void choose_blas_kernels();

}  // namespace cait::app
