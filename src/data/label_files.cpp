#include "data/label_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/text_lines.h"
#include "image/codec/decode_png.h"
#include "image/codec/image_limits.h"
#include "system/file_bytes.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

class LabelFileDataset final : public Dataset {
public:
    LabelFileDataset(std::string source, LabelFiles files)
        : Dataset(std::move(source), std::move(files.classes)), files_(std::move(files)) {}

    std::size_t size() const noexcept override { return files_.images.size(); }
    std::string name(std::size_t i) const override { return image_path(i).string(); }
    void read(std::size_t i, const DecodeOptions& options, Image& out) const override {
        const fs::path path = image_path(i);
        decode_image_into(out, read_bytes(path), path.string(), options);
    }
    std::int64_t label(std::size_t) const override { return kUnlabelled; }
    std::vector<std::int64_t> labels(std::size_t) const override { return {}; }
    std::optional<fs::path> file(std::size_t i) const override { return image_path(i); }
    bool has_label_images() const override { return true; }
    LabelImage label_image(std::size_t i) const override {
        const fs::path path = files_.root / files_.labels[i];
        return files_.read(i, read_bytes(path), path.string());
    }
    std::vector<Colour> colours() const override { return files_.colours; }

private:
    fs::path image_path(std::size_t i) const { return files_.root / files_.images[i]; }

    LabelFiles files_;
};

void check_pairs(const std::string& source, const LabelFiles& files) {
    if (files.images.empty())
        throw Error(fmt::format("{}: expected images with label images, found none", source));
    if (files.classes.names.empty() || files.classes.names.size() > kMostPixelClasses)
        throw Error(fmt::format("{}: expected 1 to {} classes of pixels, found {}", source,
                                kMostPixelClasses, files.classes.names.size()));
    constexpr std::size_t kShown = 3;
    std::vector<std::string> missing;
    std::size_t count = 0;
    for (const std::string& label : files.labels)
        if (std::error_code failure; !fs::exists(files.root / label, failure) && ++count <= kShown)
            missing.push_back((files.root / label).string());
    if (count > 0)
        throw Error(fmt::format(
            "{}: expected a label image for each of the {} images, found {} without one: {}{}",
            source, files.images.size(), count, fmt::join(missing, ", "),
            count > kShown ? ", …" : ""));
}

std::optional<std::uint8_t> byte_of(const std::string& word) {
    const auto number = plain_number(word);
    if (!number || *number > 255) return std::nullopt;
    return std::uint8_t(*number);
}

}  // namespace

LabelCodes::LabelCodes() {
    meaning_.fill(kWrong);
    meaning_[kIgnored] = kIgnored;
}

LabelCodes LabelCodes::counted(std::size_t classes, bool reduce_zero) {
    LabelCodes codes;
    if (reduce_zero) codes.set(0, kIgnored);
    const std::size_t first = reduce_zero ? 1 : 0;
    for (std::size_t i = 0; i < classes && first + i < kIgnored; ++i)
        codes.set(std::uint8_t(first + i), std::uint8_t(i));
    return codes;
}

void LabelCodes::set(std::uint8_t number, std::uint8_t meaning) { meaning_[number] = meaning; }

LabelImage LabelCodes::read(std::span<const std::byte> bytes, const std::string& name) const {
    LabelImage labels = decode_label_image(bytes, name);
    for (std::size_t i = 0; i < labels.values.size(); ++i) {
        const std::uint16_t meaning = meaning_[labels.values[i]];
        if (meaning == kWrong) refuse(labels, i, name);
        labels.values[i] = std::uint8_t(meaning);
    }
    return labels;
}

void LabelCodes::refuse(const LabelImage& labels, std::size_t at, const std::string& name) const {
    std::vector<std::string> known;  // in ranges
    for (int i = 0; i < 256; ++i) {
        if (meaning_[std::size_t(i)] == kWrong) continue;
        int end = i;
        while (end < 255 && meaning_[std::size_t(end) + 1] != kWrong) ++end;
        known.push_back(i == end ? std::to_string(i) : fmt::format("{} to {}", i, end));
        i = end;
    }
    throw Error(fmt::format("{}: pixel ({}, {}): expected {}, found {}", name,
                            std::int64_t(at) % labels.width, std::int64_t(at) / labels.width,
                            fmt::join(known, " or "), labels.values[at]));
}

LabelImage decode_label_image(std::span<const std::byte> bytes, const std::string& name) {
    if (probe_image(bytes, name).format != ImageFormat::png)
        throw ImageError(ImageError::Why::malformed,
                         name +
                             ": expected a label image as PNG, which keeps its numbers; found "
                             "another format");
    const PngHeader header = read_png_header(bytes, name);
    const DecodeOptions options;
    check_image_size(header.width, header.height, name, options.limits);
    Image image;
    decode_png_indices(image, bytes, header, name, options);
    return {image.width, image.height, std::move(image.pixels)};
}

void LabelFiles::read_by(LabelCodes codes) {
    read = [codes](std::size_t, std::span<const std::byte> bytes, const std::string& name) {
        return codes.read(bytes, name);
    };
}

DatasetPtr make_label_dataset(std::string source, LabelFiles files) {
    check_pairs(source, files);
    return std::make_shared<LabelFileDataset>(std::move(source), std::move(files));
}

NamedColours read_class_colours(const fs::path& path) {
    NamedColours result;
    std::set<std::string> seen;
    std::size_t number = 0;
    for (const std::string& line : read_lines(path)) {
        ++number;
        std::vector<std::string> words = words_of(line);
        std::string name = line;
        Colour colour{};
        bool coloured = words.size() > 3;
        for (std::size_t c = 0; coloured && c < 3; ++c) {
            const auto value = byte_of(words[words.size() - 3 + c]);
            coloured = value.has_value();
            colour[c] = value.value_or(0);
        }
        if (coloured) {
            words.resize(words.size() - 3);
            name = fmt::format("{}", fmt::join(words, " "));
            result.colours.push_back(colour);
        }
        if (words.empty() || !seen.insert(name).second)
            throw Error(fmt::format("{}:{}: expected a class name of its own, found {}",
                                    path.string(), number, display_name(line)));
        result.names.push_back(std::move(name));
        if (!result.colours.empty() && result.colours.size() != result.names.size())
            throw Error(
                fmt::format("{}:{}: expected a colour (NAME R G B) for all classes or for "
                            "none, found {}",
                            path.string(), number, display_name(line)));
    }
    check_class_names(result.names, path.string());
    if (result.names.empty())
        throw Error(fmt::format("{}: expected one class name per line, found none", path.string()));
    return result;
}

}  // namespace cait
