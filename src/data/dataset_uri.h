// Data sets are named by one line, scheme:PATH?option=value&option=value, which fits a command line
// and a recipe file alike.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cait/settings.h"

namespace cait {

// Which part of a data set; `any` leaves the choice to the name or to the layout. `trainval` is
// train and val together, as papers train on small sets whose test part is apart.
enum class Split { any, train, val, test, trainval };

struct DatasetUri {
    std::string text;  // as given; opens error messages
    std::string scheme;
    std::string path;  // taken literally: no escapes, and '?' only where options follow
    SettingList options;

    std::optional<std::string> option(std::string_view name) const;
    // An option that is true or false, which it is without it. Throws UsageError for another value.
    bool flag(std::string_view name) const;
    // The option "split" if there is one, otherwise the hint.
    Split split(Split hint) const;
    // Throws UsageError for an option that is not among `known`.
    void check_options(std::span<const std::string> known) const;
};

// Throws UsageError when there is no scheme or an option is not of the form name=value.
DatasetUri parse_dataset_uri(std::string_view text);

std::string_view name_of(Split split);  // "train", "val", "test", "trainval"; "any" for the first

// Expands {000..009} (the width of the first number is kept) and {a,b,c}, as a shell does. Throws
// UsageError for an unclosed brace, for a pattern of more than 1024 bytes, for numbers that run
// backwards or for more than 100,000 names.
std::vector<std::string> expand_braces(std::string_view pattern);

}  // namespace cait
