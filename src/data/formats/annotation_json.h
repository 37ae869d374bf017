// Annotations as COCO has them: a document of lists ("images", "annotations", "categories") whose
// entries refer to each other by id. Entries are handed over one by one: as a tree, the larger
// files would take gigabytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cait {

// "segmentation" as it is written: a list of polygons, x and y in turn, or the lengths of runs as
// numbers or as one text, with the size [height, width] that they fill.
struct AnnotationShape {
    std::vector<std::vector<double>> polygons;
    std::vector<double> counts, size;
    std::string text;
};

struct AnnotationEntry {
    std::string section;                                      // the list that it is in
    std::int64_t id = -1, image_id = -1, category_id = -1;    // -1: it has none
    std::map<std::string, std::string, std::less<>> texts{};  // of the keys that were asked for
    std::map<std::string, std::vector<double>, std::less<>> numbers{};  // the same
    AnnotationShape shape{};

    std::string text(std::string_view key) const;  // empty: it has none
    // One number, or a list of them; empty: it has none.
    std::span<const double> values(std::string_view key) const;
};

struct AnnotationOptions {
    std::vector<std::string_view> texts;      // keys whose texts are wanted
    std::string_view bare_list{};             // section of a document that is one list; empty: none
    std::vector<std::string_view> numbers{};  // keys whose numbers are wanted; true counts as 1
    std::string_view shape{};                 // the key of AnnotationShape; empty: none is read
};

std::string read_annotation_file(const std::filesystem::path& path);

// Calls `use` for every entry, in the order of the text. Throws Error that begins with `file` for
// what is not JSON.
void parse_annotations(const std::string& text, const std::string& file,
                       const AnnotationOptions& options,
                       const std::function<void(AnnotationEntry& entry)>& use);

// Throws Error "FILE: images: an entry (id 7) has no file_name" unless it is there.
void require_field(bool is_there, const AnnotationEntry& entry, std::string_view field,
                   const std::string& file);

}  // namespace cait
