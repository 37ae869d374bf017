#include "data/imagenet_classes.h"

#include <algorithm>
#include <array>


namespace cait {

namespace {

struct KnownList {
    std::size_t classes;
    char letter;  // in the second column of the table
    std::string_view title;
};

constexpr std::array<KnownList, 5> kLists{{{1000, 'a', "ImageNet-1k"},
                                           {21841, 'b', "ImageNet-21k"},
                                           {21843, 'c', "ImageNet-21k"},
                                           {11221, 'd', "ImageNet-21k-P"},
                                           {11821, 'e', "ImageNet-12k"}}};

constexpr std::size_t kDigits = 8;  // of an id, which opens the line

struct Line {
    std::string_view digits;
    std::string_view letters;
    std::string_view name;
};

// The first line of a text, which then begins behind it.
std::string_view take_text(std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
}

// "01440764 abcde tench", and what follows it.
Line take_line(std::string_view& text) {
    const std::string_view line = take_text(text);
    const std::size_t blank = line.find(' ', kDigits + 1);
    return {line.substr(0, kDigits), line.substr(kDigits + 1, blank - kDigits - 1),
            line.substr(blank + 1)};
}

// In the order of the ids.
const std::vector<Line>& table() {
    static const std::vector<Line> lines = [] {
        std::vector<Line> all;
        for (std::string_view text = imagenet_classes_text(); !text.empty();)
            all.push_back(take_line(text));
        return all;
    }();
    return lines;
}

}  // namespace

std::optional<ImageNetList> imagenet_list(std::size_t classes) {
    const auto* const known = std::ranges::find(kLists, classes, &KnownList::classes);
    if (known == kLists.end()) return std::nullopt;
    ImageNetList list{known->title, {}};
    list.names.reserve(classes);
    for (const Line& line : table())
        if (line.letters.find(known->letter) != std::string_view::npos)
            list.names.emplace_back(line.name);
    return list;
}

std::optional<std::string> imagenet_name(std::string_view wordnet_id) {
    if (wordnet_id.size() != kDigits + 1 || wordnet_id.front() != 'n') return std::nullopt;
    const std::string_view digits = wordnet_id.substr(1);
    const auto found = std::ranges::lower_bound(table(), digits, {}, &Line::digits);
    if (found == table().end() || found->digits != digits) return std::nullopt;
    return std::string(found->name);
}

std::vector<ImageNetParent> imagenet_parents() {
    std::vector<ImageNetParent> parents;
    for (std::string_view text = imagenet_parents_text(); !text.empty();) {
        const std::string_view line = take_text(text);  // "01440764 soft-finned fish"
        parents.push_back({'n' + std::string(line.substr(0, kDigits)),
                           std::string(line.substr(kDigits + 1))});
    }
    return parents;
}

}  // namespace cait
