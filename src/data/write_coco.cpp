#include "data/write_coco.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cait/error.h"
#include "data/object_list.h"
#include "system/atomic_file.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

std::vector<fs::path> files_of(const Dataset& dataset, std::span<const std::size_t> indices) {
    std::vector<fs::path> files;
    for (const std::size_t index : indices) {
        const auto file = dataset.file(index);
        if (!file)
            throw UsageError(
                fmt::format("{}: its images are not files of their own, so a list cannot name them",
                            dataset.source()));
        files.push_back(fs::absolute(*file).lexically_normal());
    }
    return files;
}

// The deepest folder that all of them lie below.
fs::path common_folder(const std::vector<fs::path>& files) {
    fs::path folder = files.empty() ? fs::path("/") : files.front().parent_path();
    for (const fs::path& file : files)
        while (folder.has_relative_path() && *file.lexically_relative(folder).begin() == "..")
            folder = folder.parent_path();
    return folder;
}

nlohmann::json shape_json(const ObjectMask& mask) {
    if (!mask.polygons.empty()) return mask.polygons;
    if (mask.runs.runs.empty()) return nlohmann::json::array();
    return {{"size", {mask.runs.height, mask.runs.width}}, {"counts", mask_text(mask.runs)}};
}

nlohmann::json object_json(const Object& object, std::size_t id, std::int64_t image,
                           std::int64_t category) {
    const auto& [left, top, right, bottom] = object.box;
    return {{"id", id},
            {"image_id", image},
            {"category_id", category},
            {"bbox", {left, top, right - left, bottom - top}},
            {"area", object.area},
            {"iscrowd", object.crowd ? 1 : 0},
            {"segmentation", shape_json(object.mask)}};
}

// Writes the document entry by entry: as a whole it would take many times the memory.
class CocoWriter {
public:
    explicit CocoWriter(const fs::path& file) : out_(file) {}

    void begin(const char* list) {
        text_ += fmt::format("{}\"{}\":[", is_first_list_ ? "{" : "],\n", list);
        is_first_list_ = false;
        is_first_ = true;
    }
    void add(const nlohmann::json& entry) {
        constexpr std::size_t kStep = std::size_t{1} << 20;
        text_ += is_first_ ? "\n" : ",\n";
        try {
            text_ += entry.dump();
        } catch (const nlohmann::json::exception&) {
            throw Error("expected names of files in UTF-8, as JSON has them; found another");
        }
        is_first_ = false;
        if (text_.size() > kStep) flush();
    }
    void finish() {
        text_ += "]}\n";
        flush();
        out_.commit();
    }

private:
    void flush() {
        out_.write(text_);
        text_.clear();
    }

    AtomicFile out_;
    std::string text_;
    bool is_first_list_ = true, is_first_ = true;
};

}  // namespace

fs::path write_coco_dataset(const Dataset& dataset, std::span<const std::size_t> indices,
                            const fs::path& file) {
    const std::vector<fs::path> files = files_of(dataset, indices);
    const fs::path folder = common_folder(files);
    const std::vector<std::int64_t> numbers = dataset.class_numbers();
    CocoWriter out(file);
    out.begin("categories");
    for (std::size_t i = 0; i < numbers.size(); ++i)
        out.add({{"id", numbers[i]}, {"name", dataset.classes()[i]}});
    out.begin("images");
    for (std::size_t i = 0; i < files.size(); ++i) {
        nlohmann::json entry{{"id", dataset.image_number(indices[i])},
                             {"file_name", files[i].lexically_relative(folder).string()}};
        if (const Extent extent = image_extent(files[i]); extent.width > 0) {
            entry["width"] = extent.width;
            entry["height"] = extent.height;
        }
        out.add(entry);
    }
    out.begin("annotations");
    std::size_t id = 0;
    for (const std::size_t index : indices)
        for (const Object& object : dataset.objects(index))
            out.add(object_json(object, ++id, dataset.image_number(index),
                                numbers[std::size_t(object.label)]));
    out.finish();
    return folder;
}

}  // namespace cait
