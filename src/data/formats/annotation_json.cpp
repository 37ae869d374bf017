#include "data/formats/annotation_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cait/error.h"
#include "system/file_bytes.h"

namespace cait {

namespace {

constexpr std::size_t kLargestJson = std::size_t{1} << 32;
constexpr int kEntryDepth = 3;  // document, section's list, entry

class AnnotationEvents : public nlohmann::json_sax<nlohmann::json> {
public:
    AnnotationEvents(const std::string& file, const AnnotationOptions& options,
                     const std::function<void(AnnotationEntry& entry)>& use)
        : file_(file), options_(options), use_(use) {}

    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool number_integer(number_integer_t value) override { return number(value); }
    bool number_unsigned(number_unsigned_t value) override {
        return number(std::int64_t(std::min(value, number_unsigned_t(INT64_MAX))));
    }
    bool string(string_t& value) override {
        if (in_entry() && std::ranges::find(options_.texts, key_) != options_.texts.end())
            entry_.texts[key_] = value;
        return true;
    }
    bool key(string_t& value) override {
        if (depth_ == 1) section_ = value;
        if (in_entry()) key_ = value;
        return true;
    }
    bool start_object(std::size_t) override { return deeper(); }
    bool start_array(std::size_t) override {
        if (depth_ == 0 && !options_.bare_list.empty()) {
            section_ = options_.bare_list;
            ++depth_;
        }
        return deeper();
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
    bool in_entry() const { return depth_ == kEntryDepth; }

    bool deeper() {
        ++depth_;
        if (in_entry()) {
            entry_ = {section_};
            key_.clear();
        }
        return true;
    }

    bool number(std::int64_t value) {
        if (!in_entry()) return true;
        if (key_ == "id") entry_.id = value;
        if (key_ == "image_id") entry_.image_id = value;
        if (key_ == "category_id") entry_.category_id = value;
        return true;
    }

    const std::string& file_;
    const AnnotationOptions& options_;
    const std::function<void(AnnotationEntry& entry)>& use_;
    int depth_ = 0;
    std::string section_, key_;
    AnnotationEntry entry_;
};

}  // namespace

std::string AnnotationEntry::text(std::string_view key) const {
    const auto found = texts.find(key);
    return found == texts.end() ? std::string() : found->second;
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
