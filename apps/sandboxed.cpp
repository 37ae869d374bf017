#include "sandboxed.h"

#include "system/sandbox.h"

namespace cait::app {

void enter_sandbox_for(const std::vector<std::string>& outputs) {
    std::vector<std::filesystem::path> writable;
    for (const std::string& output : outputs)
        if (!output.empty()) writable.emplace_back(output);
    enter_sandbox(writable);
}

}  // namespace cait::app
