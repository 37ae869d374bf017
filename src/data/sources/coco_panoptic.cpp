// COCO's panoptic annotations, and what is annotated like them, as classes of pixels: the red,
// green and blue of a PNG are the number of a segment, whose category a JSON file has.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/below_folder.h"
#include "data/data_source.h"
#include "data/label_files.h"
#include "system/counted_memory.h"
#include "system/file_bytes.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

struct PanopticSegment {
    std::int64_t id = -1;
    std::int64_t category = -1;
};

struct PanopticImage {
    std::string file;  // the PNG
    std::vector<PanopticSegment> segments;
};

struct PanopticCategory {
    std::int64_t id = -1;
    std::string name;
    std::vector<std::int64_t> colour;
};

struct PanopticLists {
    std::vector<PanopticImage> images;
    std::vector<PanopticCategory> categories;
};

// Picks the few fields that matter out of the event stream.
class PanopticEvents : public nlohmann::json_sax<nlohmann::json> {
public:
    PanopticEvents(PanopticLists& lists, CountedMemory& memory, std::string file)
        : lists_(lists), memory_(memory), file_(std::move(file)) {}

    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool number_integer(number_integer_t value) override { return number(value); }
    bool number_unsigned(number_unsigned_t value) override {
        return number(std::int64_t(std::min(value, number_unsigned_t(INT64_MAX))));
    }
    bool string(string_t& value) override {
        if (depth_ != kEntryDepth) return true;
        if (key_ == "file_name") image_.file = value;
        if (key_ == "name") category_.name = value;
        return true;
    }
    bool key(string_t& value) override {
        if (depth_ == 1) section_ = value;
        if (depth_ == kEntryDepth || depth_ == kSegmentDepth) key_ = value;
        if (depth_ == kEntryDepth) list_ = value;
        return true;
    }
    bool start_object(std::size_t) override {
        if (++depth_ == kEntryDepth) {
            image_ = {};
            category_ = {};
        }
        if (depth_ == kSegmentDepth) segment_ = {};
        return true;
    }
    bool start_array(std::size_t) override { return ++depth_ > 0; }
    bool end_object() override {
        if (depth_ == kSegmentDepth && section_ == "annotations" && list_ == "segments_info")
            finish_segment();
        if (depth_ == kEntryDepth) finish_entry();
        return --depth_ >= 0;
    }
    bool end_array() override { return --depth_ >= 0; }
    bool parse_error(std::size_t position, const std::string&,
                     const nlohmann::json::exception&) override {
        throw Error(fmt::format("{}: not valid JSON at byte {}", file_, position));
    }

private:
    static constexpr int kEntryDepth = 3;    // document, section's list, entry
    static constexpr int kSegmentDepth = 5;  // and its list of segments, segment

    bool number(std::int64_t value) {
        if (depth_ == kEntryDepth && key_ == "id") category_.id = value;
        if (depth_ == kEntryDepth + 1 && list_ == "color" && category_.colour.size() < 3)
            category_.colour.push_back(value);
        if (depth_ == kSegmentDepth && key_ == "id") segment_.id = value;
        if (depth_ == kSegmentDepth && key_ == "category_id") segment_.category = value;
        return true;
    }

    void finish_segment() {
        if (segment_.id < 0 || segment_.category < 0)
            throw Error(
                fmt::format("{}: annotations: {}: expected segments with id and "
                            "category_id, found one without",
                            file_, display_name(image_.file)));
        memory_.add(sizeof(segment_));
        image_.segments.push_back(segment_);
    }

    void finish_entry() {
        if (section_ == "annotations") {
            if (image_.file.empty())
                throw Error(fmt::format("{}: annotations: an entry has no file_name", file_));
            memory_.add_text(image_.file);
            lists_.images.push_back(std::move(image_));
        } else if (section_ == "categories") {
            if (category_.id < 0 || category_.name.empty())
                throw Error(fmt::format("{}: categories: expected id and name", file_));
            memory_.add_text(category_.name);
            lists_.categories.push_back(std::move(category_));
        }
    }

    PanopticLists& lists_;
    CountedMemory& memory_;
    std::string file_;
    int depth_ = 0;
    std::string section_, key_, list_;
    PanopticImage image_;
    PanopticCategory category_;
    PanopticSegment segment_;
};

void take_categories(std::vector<PanopticCategory>& categories, const std::string& file,
                     LabelFiles& files, std::unordered_map<std::int64_t, std::uint8_t>& classes) {
    std::set<std::string> names;
    for (PanopticCategory& category : categories) {
        if (classes.size() >= kMostPixelClasses)
            throw Error(fmt::format("{}: categories: expected at most {}, found {}", file,
                                    kMostPixelClasses, categories.size()));
        if (!names.insert(category.name).second ||
            !classes.emplace(category.id, std::uint8_t(classes.size())).second)
            throw Error(fmt::format("{}: categories: {} (id {}) stands there twice", file,
                                    display_name(category.name), category.id));
        for (const std::int64_t value : category.colour)
            if (value < 0 || value > 255)
                throw Error(fmt::format("{}: categories: {}: color: expected 0 to 255, found {}",
                                        file, display_name(category.name), value));
        if (category.colour.size() == 3)
            files.colours.push_back({std::uint8_t(category.colour[0]),
                                     std::uint8_t(category.colour[1]),
                                     std::uint8_t(category.colour[2])});
        files.classes.names.push_back(std::move(category.name));
    }
    if (files.colours.size() != files.classes.names.size()) files.colours.clear();
}

// Segment 0 is what nobody has annotated.
LabelImage read_panoptic(std::span<const std::byte> bytes, const std::string& name,
                         const std::unordered_map<std::int64_t, std::uint8_t>& classes) {
    const Image image = decode_image(bytes, name);
    LabelImage labels{image.width, image.height, {}};
    labels.values.reserve(std::size_t(image.width * image.height));
    std::int64_t last = 0;
    std::uint8_t meaning = kIgnored;
    for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
        const std::int64_t id =
            image.pixels[i] | image.pixels[i + 1] << 8 | image.pixels[i + 2] << 16;
        if (id != last) {  // segments are large: few pixels have to look theirs up
            const auto found = classes.find(id);
            if (id != 0 && found == classes.end())
                throw Error(
                    fmt::format("{}: pixel ({}, {}): expected the id of a segment, found "
                                "{}",
                                name, std::int64_t(i / 3) % image.width,
                                std::int64_t(i / 3) / image.width, id));
            meaning = id == 0 ? kIgnored : found->second;
            last = id;
        }
        labels.values.push_back(meaning);
    }
    return labels;
}

DatasetPtr open_coco_panoptic(const DatasetUri& uri, Split) {
    constexpr std::size_t kLargestJson = std::size_t{1} << 32;
    const std::string text = read_text(uri.path, kLargestJson);
    CountedMemory memory(uri.path);
    memory.add(text.size());
    PanopticLists lists;
    PanopticEvents events(lists, memory, uri.path);
    nlohmann::json::sax_parse(text.data(), text.data() + text.size(), &events);
    const auto images = uri.option("images");
    if (!images)
        throw UsageError(
            fmt::format("{}: expected ?images=FOLDER, where the images are", uri.text));
    const std::string masks =
        uri.option("masks").value_or(fs::path(uri.path).replace_extension().string());

    LabelFiles files;
    std::unordered_map<std::int64_t, std::uint8_t> categories;
    take_categories(lists.categories, uri.path, files, categories);
    auto segments = std::make_shared<std::vector<std::unordered_map<std::int64_t, std::uint8_t>>>();
    for (const PanopticImage& image : lists.images) {
        if (!is_below_folder(image.file))
            throw Error(
                fmt::format("{}: annotations: expected a file_name below the folder, found "
                            "{}",
                            uri.path, display_name(image.file)));
        files.images.push_back(
            (fs::path(*images) / fs::path(image.file).replace_extension(".jpg")).string());
        files.labels.push_back((fs::path(masks) / image.file).string());
        auto& classes = segments->emplace_back();
        for (const PanopticSegment& segment : image.segments) {
            const auto found = categories.find(segment.category);
            if (found == categories.end())
                throw Error(
                    fmt::format("{}: annotations: {}: expected the id of a category, found "
                                "{}",
                                uri.path, display_name(image.file), segment.category));
            memory.add(4 * sizeof(segment));
            classes.emplace(segment.id, found->second);
        }
    }
    files.read = [segments](std::size_t index, std::span<const std::byte> bytes,
                            const std::string& name) {
        return read_panoptic(bytes, name, (*segments)[index]);
    };
    return make_label_dataset(uri.path, std::move(files));
}

}  // namespace

std::vector<DataSource> coco_panoptic_sources() {
    return {{.scheme = "coco-panoptic",
             .form = "coco-panoptic:FILE.json?images=FOLDER&masks=FOLDER",
             .help = "COCO's panoptic annotations as classes of pixels; masks: the folder of the "
                     "PNG files, else the file's name without .json",
             .options = {"images", "masks"},
             .open = open_coco_panoptic,
             .is_layout = true}};
}

}  // namespace cait
