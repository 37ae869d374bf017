// The `cait` command: finds the sub-command, turns errors into one line and an exit code
// (0 done, 1 bad data, 2 wrong usage).
#include <fmt/format.h>

#include <exception>
#include <sstream>

#include "base/display_name.h"
#include "base/suggest.h"
#include "base/version.h"
#include "cait/train.h"
#include "command.h"
#include "output.h"
#include "system/cpu_limit.h"
#include "system/file_guard.h"
#include "system/isa.h"
#include "system/memory_budget.h"
#include "train/diverged.h"

#if defined(__SANITIZE_ADDRESS__)
// The sandbox forbids what AddressSanitizer's search for leaks needs (ptrace).
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
#endif

namespace {

using namespace cait::app;

constexpr int kDataError = 1;
constexpr int kUsageError = 2;

// Before any command does its work, so that nonsense in CAIT_ISA or CAIT_MEMORY is refused by all
// of them.
void check_environment() {
    cait::MemoryBudget::of_process();
    for (const std::string& note : {cait::isa_note(), cait::threads_note()})
        if (!note.empty()) print_error("cait: {}\n", note);
}

// The innermost command that was found: `cait data stas` fails in `data`.
const CLI::App& innermost(const CLI::App& app) {
    const auto chosen = app.get_subcommands();
    return chosen.empty() ? app : innermost(*chosen.front());
}

// CLI11 would only say that a sub-command is required.
std::string explain(const CLI::App& command, const CLI::ParseError& error) {
    const std::vector<std::string> left = command.remaining();
    if (command.get_require_subcommand_min() == 0 || left.empty() || left[0].starts_with('-'))
        return error.what();
    if (left[0] == "study") return "`cait study ANALYSIS` is now `cait analyze --what ANALYSIS`";
    std::vector<std::string> names;
    for (const CLI::App* one : command.get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(one->get_name());
    return fmt::format("unknown command {}; did you mean '{}'?", cait::display_name(left[0]),
                       cait::nearest_names(left[0], names, 1).at(0));
}

std::string words_of(const CLI::App& command) {  // "data get "
    if (command.get_parent() == nullptr) return "";
    return words_of(*command.get_parent()) + command.get_name() + " ";
}

int run(int argc, char** argv) {
    CLI::App app("Image transformers: train, fine-tune, distil, evaluate and look inside them.",
                 "cait");
    app.formatter(help_formatter());
    app.get_help_ptr()->group(kGeneralOptions);
    app.set_version_flag("--version", fmt::format("cait {}", cait::version()))
        ->group(kGeneralOptions);
    app.require_subcommand(1);
    app.footer("\n`cait COMMAND --help` explains a command and shows an example.");
    int status = 0;
    add_commands(app, {argc, argv, &status});
    app.parse_complete_callback(check_environment);
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& asked_for_help) {
        std::ostringstream text;
        const int shown = app.exit(asked_for_help, text, text);
        write_out(text.str());
        return shown;
    } catch (const CLI::ParseError& error) {
        const CLI::App& command = innermost(app);
        print_error("cait: {} (see `cait {}--help`)\n", explain(command, error), words_of(command));
        return kUsageError;
    } catch (const cait::Error&) {
        cait::check_mapped_files();  // what was found in a file that was being changed says nothing
        throw;
    }
    cait::recheck_mapped_files();
    return status;
}

// Of what a library threw that we do not know: LibTorch adds a trace of its calls.
std::string_view first_line(std::string_view text) { return text.substr(0, text.find('\n')); }

int run_and_report(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const cait::DivergedError& error) {
        print_error("cait: {}\n", error.what());
        return cait::kDivergedExit;
    } catch (const cait::Error& error) {
        print_error("cait: {}\n", error.what());
        return error.kind() == cait::ErrorKind::usage ? kUsageError : kDataError;
    } catch (const std::bad_alloc&) {
        print_error("cait: out of memory\n");
        return kDataError;
    } catch (const std::exception& error) {
        print_error("cait: {}\n", first_line(error.what()));
        return kDataError;
    }
}

}  // namespace

int main(int argc, char** argv) {
    cait::install_file_guard();
    prepare_output();
    return finish_output(run_and_report(argc, argv));
}
