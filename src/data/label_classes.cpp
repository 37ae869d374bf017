#include "data/label_classes.h"

#include <fmt/format.h>

#include <algorithm>

#include "cait/error.h"
#include "system/file_bytes.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

std::vector<std::uint8_t> ignored_numbers(const DatasetUri& uri) {
    std::vector<std::uint8_t> numbers;
    const std::string text = uri.option("ignore").value_or("");
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const auto number = plain_number(text.substr(begin, end - begin));
        if (!number || *number > 255)
            throw UsageError(fmt::format("{}: ignore: expected numbers from 0 to 255, found '{}'",
                                         uri.text, text));
        numbers.push_back(std::uint8_t(*number));
        begin = end + 1;
    }
    return numbers;
}

std::size_t count_classes(const LabelFiles& files, const LabelCodes& all) {
    std::size_t count = 0;
    for (const std::string& label : files.labels) {
        const fs::path path = files.root / label;
        for (const std::uint8_t value : all.read(read_bytes(path), path.string()).values)
            if (value != kIgnored) count = std::max(count, std::size_t(value) + 1);
    }
    return count;
}

fs::path class_file(const DatasetUri& uri, const std::vector<fs::path>& places) {
    if (const auto named = uri.option("classes")) return *named;
    for (const fs::path& place : places)
        if (std::error_code failure; fs::is_regular_file(place / "classes.txt", failure))
            return place / "classes.txt";
    return {};
}

}  // namespace

void choose_classes(const DatasetUri& uri, const std::vector<fs::path>& places, LabelFiles& files) {
    const auto codes_for = [&](std::size_t classes) {
        LabelCodes codes = LabelCodes::counted(classes, uri.flag("reduce_zero"));
        for (const std::uint8_t number : ignored_numbers(uri)) codes.set(number, kIgnored);
        return codes;
    };
    if (const fs::path file = class_file(uri, places); !file.empty()) {
        NamedColours classes = read_class_colours(file);
        files.classes.names = std::move(classes.names);
        files.colours = std::move(classes.colours);
    } else {
        const std::size_t count = count_classes(files, codes_for(kMostPixelClasses));
        for (std::size_t i = 0; i < count; ++i) files.classes.names.push_back(std::to_string(i));
        files.classes.numbered = true;
    }
    files.read_by(codes_for(files.classes.names.size()));
}

}  // namespace cait
