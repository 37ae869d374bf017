#include "data/class_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <unordered_map>

#include "base/display_name.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "cait/error.h"
#include "data/text_lines.h"

namespace cait {

namespace {

std::unordered_map<std::string, std::int64_t> positions_of(const std::vector<std::string>& names) {
    std::unordered_map<std::string, std::int64_t> positions;
    for (std::size_t i = 0; i < names.size(); ++i) positions.emplace(names[i], std::int64_t(i));
    return positions;
}

bool are_positions(const ClassList& classes, std::size_t known) {
    return std::ranges::all_of(classes.names, [&](const std::string& name) {
        const auto number = plain_number(name);
        return number && *number < std::int64_t(known);
    });
}

}  // namespace

std::optional<std::int64_t> plain_number(std::string_view text) {
    constexpr std::size_t kMostDigits = 9;
    if (text.empty() || text.size() > kMostDigits || (text.size() > 1 && text.front() == '0'))
        return std::nullopt;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number < 0) return std::nullopt;
    return number;
}

IndexedLabels index_labels(std::span<const std::string> label_of_sample) {
    const std::set<std::string> distinct(label_of_sample.begin(), label_of_sample.end());
    IndexedLabels result;
    result.classes.names.assign(distinct.begin(), distinct.end());
    result.classes.numbered = std::ranges::all_of(
        distinct, [](const std::string& name) { return plain_number(name).has_value(); });
    if (result.classes.numbered)
        std::ranges::sort(result.classes.names, {},
                          [](const std::string& name) { return *plain_number(name); });
    const auto positions = positions_of(result.classes.names);
    result.labels.reserve(label_of_sample.size());
    for (const std::string& name : label_of_sample) result.labels.push_back(positions.at(name));
    return result;
}

std::vector<std::int64_t> map_numbered_classes(const ClassList& classes, std::size_t known,
                                               const std::string& source) {
    std::vector<std::int64_t> mapped;
    for (const std::string& name : classes.names) {
        const std::optional<std::int64_t> number = plain_number(name);
        if (!number || *number >= std::int64_t(known))
            throw Error(
                fmt::format("{}: class number {}: expected a number below {}, the number "
                            "of known classes",
                            source, display_name(name), known));
        mapped.push_back(*number);
    }
    return mapped;
}

ClassMap map_classes(const ClassList& classes, const std::vector<std::string>& known,
                     const std::string& source) {
    const auto positions = positions_of(known);
    ClassMap result;
    const std::string* unknown = nullptr;
    const std::string* elsewhere = nullptr;  // known, but not at the position that it names
    for (const std::string& name : classes.names) {
        const auto found = positions.find(name);
        result.positions.push_back(found == positions.end() ? -1 : found->second);
        if (found == positions.end() && unknown == nullptr) unknown = &name;
        if (found != positions.end() && elsewhere == nullptr && plain_number(name) != found->second)
            elsewhere = &name;
    }
    if (unknown == nullptr) {
        if (classes.numbered && elsewhere != nullptr && are_positions(classes, known.size()))
            result.note = fmt::format(
                "{}: labels are taken for names of classes, not for positions in their list: {} is "
                "class '{}', not {}",
                source, *elsewhere, *elsewhere,
                display_name(known[std::size_t(*plain_number(*elsewhere))]));
        return result;
    }
    if (classes.numbered && elsewhere == nullptr)
        return {map_numbered_classes(classes, known.size(), source), {}};
    const auto nearest = nearest_names(*unknown, known, 1);
    throw Error(fmt::format(
        "{}: class {} is not among the {} known classes{}", source, display_name(*unknown),
        known.size(), nearest.empty() ? std::string() : "; nearest: " + display_name(nearest[0])));
}

std::vector<std::string> read_class_file(const std::filesystem::path& path) {
    std::vector<std::string> names = read_lines(path);
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i].empty())
            throw Error(fmt::format("{}:{}: expected a class name, found a blank line",
                                    path.string(), i + 1));
        if (!seen.insert(names[i]).second)
            throw Error(fmt::format("{}:{}: class {} stands here a second time", path.string(),
                                    i + 1, display_name(names[i])));
    }
    check_class_names(names, path.string());
    if (names.empty())
        throw Error(fmt::format("{}: expected one class name per line, found none", path.string()));
    return names;
}

namespace {

// A name of bytes that nobody could read otherwise: "gr\xfcn".
std::string escaped(std::string_view name) {
    constexpr std::size_t kMost = 100;
    std::string text = "'";
    for (const char c : name.substr(0, kMost)) {
        const auto code = static_cast<unsigned char>(c);
        text += code < 0x20 || code >= 0x7f ? fmt::format("\\x{:02x}", code) : std::string(1, c);
    }
    return text + (name.size() > kMost ? "...'" : "'");
}

}  // namespace

void check_class_names(const std::vector<std::string>& names, const std::string& source) {
    for (const std::string& name : names)
        if (!is_utf8(name))
            throw Error(
                fmt::format("{}: class {}: expected a name in UTF-8: model files hold "
                            "nothing else",
                            source, escaped(name)));
}

}  // namespace cait
