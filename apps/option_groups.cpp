#include "option_groups.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace cait::app {

namespace {

constexpr std::array<std::string_view, 5> kSharedHeadings = {
    kImageOptions, kPreparationOptions, kModelOptions, kExecutionOptions, kGeneralOptions};

// 0 for a command's own options.
std::ptrdiff_t heading_rank(const std::string& heading) {
    const auto* const shared = std::ranges::find(kSharedHeadings, heading);
    return shared == kSharedHeadings.end() ? 0 : shared - kSharedHeadings.begin() + 1;
}

class HelpFormatter : public CLI::Formatter {
public:
    std::string make_help(const CLI::App* app, std::string name,
                          CLI::AppFormatMode mode) const override {
        return make_description(app) + make_usage(app, std::move(name)) + make_positionals(app) +
               make_subcommands(app, mode) + option_groups(*app) + '\n' + make_footer(app);
    }

private:
    std::string option_groups(const CLI::App& app) const {
        std::string text;
        for (const std::string& heading : option_headings(app))
            text += make_group(heading, false, app.get_options([&](const CLI::Option* option) {
                return option->get_group() == heading && option->nonpositional();
            }));
        return text;
    }
};

}  // namespace

OptionGroup::OptionGroup(CLI::App& command, const std::string& heading)
    : command_(command), previous_(command.option_defaults()->get_group()) {
    command.option_defaults()->group(heading);
}

OptionGroup::~OptionGroup() { command_.option_defaults()->group(previous_); }

CLI::Option* add_json_flag(CLI::App& command, bool& json, const std::string& help) {
    const OptionGroup group(command, kGeneralOptions);
    return command.add_flag("--json", json, help);
}

std::vector<std::string> option_headings(const CLI::App& command) {
    std::vector<std::string> headings;
    for (const CLI::Option* option :
         command.get_options([](const CLI::Option* one) { return one->nonpositional(); }))
        if (std::ranges::count(headings, option->get_group()) == 0)
            headings.push_back(option->get_group());
    std::ranges::stable_sort(headings, {}, heading_rank);
    return headings;
}

std::shared_ptr<CLI::Formatter> help_formatter() { return std::make_shared<HelpFormatter>(); }

}  // namespace cait::app
