// Linked where CAIT_ANALYSIS=OFF: the commands of that part say so.
#include "cait/error.h"
#include "command_table.h"

namespace cait::app {

namespace {

constexpr const char* kNoAnalysis = "Not in this build (CAIT_ANALYSIS=OFF)";

void add_no_analysis(CLI::App& command, const Invocation&) {
    command.allow_extras();
    command.callback(
        [] { throw UsageError("this build has no such command (CAIT_ANALYSIS=OFF)"); });
}

const RegisterCommand no_analyze_row({"analyze", CommandGroup::look, kNoAnalysis, add_no_analysis});
const RegisterCommand no_attend_row({"attend", CommandGroup::look, kNoAnalysis, add_no_analysis});

}  // namespace

}  // namespace cait::app
