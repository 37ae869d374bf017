#include "data/formats/annotation_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cait/error.h"
#include "system/file_bytes.h"

namespace cait {

namespace {

constexpr std::size_t kLargestJson = std::size_t{1} << 32;
constexpr int kEntryDepth = 3;                   // document, section's list, entry
constexpr std::size_t kMostNumbers = 4'000'000;  // of an entry

class AnnotationEvents : public nlohmann::json_sax<nlohmann::json> {
public:
    AnnotationEvents(const std::string& file, const AnnotationOptions& options,
                     const std::function<void(AnnotationEntry& entry)>& use)
        : file_(file), options_(options), use_(use) {}

    bool null() override { return true; }
    bool boolean(bool value) override { return value_of_entry(value ? 1 : 0); }
    bool binary(binary_t&) override { return true; }
    bool number_float(number_float_t value, const string_t&) override {
        return value_of_entry(value);
    }
    bool number_integer(number_integer_t value) override { return number(value); }
    bool number_unsigned(number_unsigned_t value) override {
        return number(std::int64_t(std::min(value, number_unsigned_t(INT64_MAX))));
    }
    bool string(string_t& value) override {
        if (in_entry() && std::ranges::find(options_.texts, key_) != options_.texts.end())
            entry_.texts[key_] = value;
        if (in_shape() && depth_ == kListDepth && inner_key_ == "counts") entry_.shape.text = value;
        return true;
    }
    bool key(string_t& value) override {
        if (depth_ == 1) section_ = value;
        if (in_entry()) key_ = value;
        if (depth_ == kListDepth) inner_key_ = value;
        return true;
    }
    bool start_object(std::size_t) override { return deeper(); }
    bool start_array(std::size_t) override {
        if (depth_ == 0 && !options_.bare_list.empty()) {
            section_ = options_.bare_list;
            ++depth_;
        }
        deeper();
        if (in_shape() && depth_ == kInnerDepth && inner_key_.empty())
            entry_.shape.polygons.emplace_back();
        return true;
    }
    bool end_object() override {
        if (in_entry()) use_(entry_);
        --depth_;
        return true;
    }
    bool end_array() override {
        --depth_;
        return true;
    }
    bool parse_error(std::size_t position, const std::string&,
                     const nlohmann::json::exception&) override {
        throw Error(fmt::format("{}: not valid JSON at byte {}", file_, position));
    }

private:
    static constexpr int kListDepth = kEntryDepth + 1;  // "bbox": [here], "segmentation": {here}
    static constexpr int kInnerDepth = kListDepth + 1;  // a polygon's numbers, or those of "counts"

    bool in_entry() const { return depth_ == kEntryDepth; }
    bool in_shape() const {
        return depth_ > kEntryDepth && !options_.shape.empty() && key_ == options_.shape;
    }

    bool deeper() {
        ++depth_;
        if (in_entry()) {
            entry_ = {section_};
            key_.clear();
            found_ = 0;
        }
        if (depth_ == kListDepth) inner_key_.clear();
        return true;
    }

    bool number(std::int64_t value) {
        if (in_entry() && key_ == "id") entry_.id = value;
        if (in_entry() && key_ == "image_id") entry_.image_id = value;
        if (in_entry() && key_ == "category_id") entry_.category_id = value;
        return value_of_entry(double(value));
    }

    bool value_of_entry(double value) {
        std::vector<double>* const list = list_of_numbers();
        if (list == nullptr) return true;
        if (++found_ > kMostNumbers)
            throw Error(fmt::format("{}: {}: an entry (id {}) has more than {} numbers", file_,
                                    section_, entry_.id, kMostNumbers));
        list->push_back(value);
        return true;
    }

    // Where a number at this place belongs; nullptr where nobody has asked for it.
    std::vector<double>* list_of_numbers() {
        if (in_shape()) {
            AnnotationShape& shape = entry_.shape;
            if (depth_ == kInnerDepth && inner_key_ == "counts") return &shape.counts;
            if (depth_ == kInnerDepth && inner_key_ == "size") return &shape.size;
            if (depth_ == kInnerDepth && inner_key_.empty() && !shape.polygons.empty())
                return &shape.polygons.back();
            return nullptr;
        }
        const bool is_value = in_entry() || (depth_ == kListDepth && inner_key_.empty());
        if (!is_value || std::ranges::find(options_.numbers, key_) == options_.numbers.end())
            return nullptr;
        return &entry_.numbers[key_];
    }

    const std::string& file_;
    const AnnotationOptions& options_;
    const std::function<void(AnnotationEntry& entry)>& use_;
    int depth_ = 0;
    std::string section_, key_, inner_key_;  // inner: of an object in the entry
    std::size_t found_ = 0;                  // numbers of the entry so far
    AnnotationEntry entry_;
};

}  // namespace

std::string AnnotationEntry::text(std::string_view key) const {
    const auto found = texts.find(key);
    return found == texts.end() ? std::string() : found->second;
}

std::span<const double> AnnotationEntry::values(std::string_view key) const {
    const auto found = numbers.find(key);
    return found == numbers.end() ? std::span<const double>() : std::span(found->second);
}

std::string read_annotation_file(const std::filesystem::path& path) {
    return read_text(path, kLargestJson);
}

void parse_annotations(const std::string& text, const std::string& file,
                       const AnnotationOptions& options,
                       const std::function<void(AnnotationEntry& entry)>& use) {
    AnnotationEvents events(file, options, use);
    nlohmann::json::sax_parse(text.data(), text.data() + text.size(), &events);
}

void require_field(bool is_there, const AnnotationEntry& entry, std::string_view field,
                   const std::string& file) {
    if (!is_there)
        throw Error(fmt::format("{}: {}: an entry (id {}) has no {}", file, entry.section, entry.id,
                                field));
}

}  // namespace cait
