// A data set of image files, each with a label file that says the class of every pixel. Layouts
// differ in how the pairs are found and in what the numbers of a label file mean.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace cait {

// From the numbers of a label file to classes.
class LabelCodes {
public:
    // Every number is wrong but 255, which is ignored.
    LabelCodes();
    // 0, 1, … are the classes; with `reduce_zero` 1, 2, … are, and 0 is ignored, too.
    static LabelCodes counted(std::size_t classes, bool reduce_zero = false);

    void set(std::uint8_t number, std::uint8_t meaning);  // a class, or kIgnored

    // Throws ImageError, opening with `name`, for what is no label image, and Error that names the
    // pixel and its number where that is wrong.
    LabelImage read(std::span<const std::byte> bytes, const std::string& name) const;

private:
    static constexpr std::uint16_t kWrong = 256;
    [[noreturn]] void refuse(const LabelImage& labels, std::size_t at,
                             const std::string& name) const;

    std::array<std::uint16_t, 256> meaning_;
};

// A label image as it is stored, of a grey or palette PNG. Throws ImageError, opening with `name`,
// for anything else.
LabelImage decode_label_image(std::span<const std::byte> bytes, const std::string& name);

struct LabelFiles {
    std::filesystem::path root;
    std::vector<std::string> images;  // relative to root, or absolute
    std::vector<std::string> labels;  // the same, one for each image
    ClassList classes;
    std::vector<Colour> colours;  // one for each class, or none
    // Reads the file of image number `index`.
    std::function<LabelImage(std::size_t index, std::span<const std::byte> bytes,
                             const std::string& name)>
        read;

    void read_by(LabelCodes codes);
};

// Throws Error when there is no pair, more classes than pixels can tell apart, or an image whose
// label file is missing. Files are opened when they are read, not before.
DatasetPtr make_label_dataset(std::string source, LabelFiles files);

struct NamedColours {
    std::vector<std::string> names;
    std::vector<Colour> colours;  // of all of them, or none
};

// One class per line: "sky", or with its colour "sky 70 130 180".
NamedColours read_class_colours(const std::filesystem::path& path);

}  // namespace cait
