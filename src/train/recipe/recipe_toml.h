// A TOML file as a flat list of "table.key" and text, so that the TOML library stays in one file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cait {

enum class TomlKind { string, integer, number, boolean, array, table, other };

struct TomlEntry {
    std::string key;  // "optim.lr", "for.deit3_large.optim.lr"
    TomlKind kind = TomlKind::other;
    std::string text;       // of a scalar; of an array of scalars "0.08,1"
    std::int64_t line = 0;  // from 1
};

// In the order of the file. Tables below the first level (in [unused] the second, in [for] the
// third), empty tables and arrays of anything but scalars have no text. `name` opens error
// messages: throws Error "name:12: what is wrong". A text of more than 1 MB is refused, and so is
// deep nesting.
std::vector<TomlEntry> parse_toml(std::string_view text, const std::string& name);

// The same text with its shape, for files that are more than a list of keys (studies).
struct TomlNode {
    TomlKind kind = TomlKind::other;
    std::string text = {};                                       // of a scalar
    std::int64_t line = 0;                                       // from 1
    std::vector<std::pair<std::string, TomlNode>> members = {};  // of a table, as in the file
    std::vector<TomlNode> items = {};                            // of an array
};
TomlNode parse_toml_tree(std::string_view text, const std::string& name);

// "a whole number", "an array", … for messages.
std::string_view toml_kind_name(TomlKind kind);

// A value of a setting as TOML: bare where reading it back gives the same text, an array where it
// is a list of such, quoted otherwise.
std::string toml_literal(const std::string& text);
std::string toml_quoted(std::string_view text);

}  // namespace cait
