// Linked where CAIT_SERVE=OFF: the commands of that part say so.
#include "cait/error.h"
#include "command_table.h"

namespace cait::app {

namespace {

constexpr const char* kNoServer = "Not in this build (CAIT_SERVE=OFF)";

void add_no_server(CLI::App& command, const Invocation&) {
    command.allow_extras();
    command.callback([] { throw UsageError("this build has no such command (CAIT_SERVE=OFF)"); });
}

const RegisterCommand no_serve_row({"serve", CommandGroup::serve, kNoServer, add_no_server});

}  // namespace

}  // namespace cait::app
