// Commands that read what somebody else has made give up what they do not need for it first.
#pragma once

#include <string>
#include <vector>

namespace cait::app {

// From here on nothing but `outputs` can be written (empty names are skipped), nothing can be
// fetched and no program started, see system/sandbox.h. Called after find_model(), when all that
// remains is to read and to compute.
void enter_sandbox_for(const std::vector<std::string>& outputs);

}  // namespace cait::app
