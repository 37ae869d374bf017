#include "sandboxed.h"

#include "system/sandbox.h"
#include "weights_argument.h"

namespace cait::app {

void enter_sandbox_for(const std::vector<std::string>& outputs, const std::string& weights,
                       const std::string& model) {
    std::vector<std::string> told_later;
    if (weights == "official") weights_file(weights, model, &told_later);
    std::vector<std::filesystem::path> writable;
    for (const std::string& output : outputs)
        if (!output.empty()) writable.emplace_back(output);
    enter_sandbox(writable);
}

}  // namespace cait::app
