#include "data/sources/inaturalist.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "cait/error.h"
#include "core/display_name.h"
#include "core/file_bytes.h"
#include "data/sources/file_dataset.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::string_view, 7> kLevels{"kingdom", "phylum", "class",  "order",
                                                  "family",  "genus",  "species"};

struct Entries {
    std::vector<std::pair<std::int64_t, std::string>> images;  // id, file name
    std::unordered_map<std::int64_t, std::int64_t> category_of_image;
    std::unordered_map<std::int64_t, std::string> label_of_category;
};

// Picks the few fields that matter out of the event stream: the whole document as a tree would take
// gigabytes for the larger years.
class EntryEvents : public nlohmann::json_sax<nlohmann::json> {
public:
    EntryEvents(Entries& entries, std::string field, std::string file)
        : entries_(entries), field_(std::move(field)), file_(std::move(file)) {}

    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool number_integer(number_integer_t value) override { return number(value); }
    bool number_unsigned(number_unsigned_t value) override {
        return number(std::int64_t(std::min(value, number_unsigned_t(INT64_MAX))));
    }
    bool string(string_t& value) override {
        if (in_entry())
            (key_ == "file_name" ? file_name_ : key_ == field_ ? label_ : ignored_) = value;
        return true;
    }
    bool key(string_t& value) override {
        if (depth_ == 1) section_ = value;
        if (in_entry()) key_ = value;
        return true;
    }
    bool start_object(std::size_t) override { return deeper(); }
    bool start_array(std::size_t) override {
        if (depth_ == 0) section_ = "categories";  // categories.json is a bare list
        if (depth_ == 0) ++depth_;
        return deeper();
    }
    bool end_object() override {
        if (in_entry()) finish();
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
    static constexpr int kEntryDepth = 3;  // document, section's list, entry

    bool in_entry() const { return depth_ == kEntryDepth; }

    bool deeper() {
        ++depth_;
        if (in_entry()) {
            id_ = image_id_ = category_id_ = -1;
            file_name_.clear();
            label_.clear();
            key_.clear();
        }
        return true;
    }

    bool number(std::int64_t value) {
        if (!in_entry()) return true;
        if (key_ == "id") id_ = value;
        if (key_ == "image_id") image_id_ = value;
        if (key_ == "category_id") category_id_ = value;
        return true;
    }

    [[noreturn]] void missing(const char* what) const {
        throw Error(fmt::format("{}: {}: an entry (id {}) has no {}", file_, section_, id_, what));
    }

    void finish() {
        if (section_ == "images") {
            if (id_ < 0 || file_name_.empty()) missing(id_ < 0 ? "id" : "file_name");
            entries_.images.emplace_back(id_, file_name_);
        } else if (section_ == "annotations") {
            if (image_id_ < 0 || category_id_ < 0)
                missing(image_id_ < 0 ? "image_id" : "category_id");
            entries_.category_of_image[image_id_] = category_id_;
        } else if (section_ == "categories") {
            if (id_ < 0) missing("id");
            if (!label_.empty()) entries_.label_of_category[id_] = label_;
        }
    }

    Entries& entries_;
    std::string field_;  // the taxonomic level's name in a category
    std::string file_;
    int depth_ = 0;
    std::string section_, key_, file_name_, label_, ignored_;
    std::int64_t id_ = -1, image_id_ = -1, category_id_ = -1;
};

void parse(const fs::path& path, const std::string& field, Entries& entries) {
    constexpr std::size_t kLargestJson = std::size_t{1} << 32;
    const std::string text = read_text(path, kLargestJson);
    EntryEvents events(entries, field, path.string());
    nlohmann::json::sax_parse(text.data(), text.data() + text.size(), &events);
}

fs::path find_json(const DatasetUri& uri, Split split) {
    if (const auto json = uri.option("json")) {
        const fs::path given = *json;
        return given.is_absolute() || fs::exists(given) ? given : fs::path(uri.path) / given;
    }
    const std::string prefix(name_of(split == Split::any ? Split::train : split));
    std::vector<fs::path> found;
    if (fs::is_directory(uri.path))
        for (const fs::directory_entry& entry : fs::directory_iterator(uri.path))
            if (entry.path().extension() == ".json" &&
                entry.path().filename().string().starts_with(prefix))
                found.push_back(entry.path());
    if (found.size() != 1)
        throw Error(
            fmt::format("{}: expected one {}*.json in {}, found {}; name it with ?json=FILE",
                        uri.text, prefix, uri.path, found.size()));
    return found.front();
}

}  // namespace

DatasetPtr open_inaturalist(const DatasetUri& uri, Split split) {
    const std::string level = uri.option("level").value_or("species");
    if (std::ranges::find(kLevels, level) == kLevels.end())
        throw UsageError(fmt::format("{}: level: expected {}, found {}", uri.text,
                                     fmt::join(kLevels, ", "), display_name(level)));
    const std::string field = level == "species" ? "name" : level;
    const fs::path json = find_json(uri, split);
    Entries entries;
    parse(json, field, entries);
    if (const fs::path extra = fs::path(uri.path) / "categories.json"; fs::exists(extra))
        parse(extra, field, entries);

    FileList list;
    list.root = uri.path;
    std::vector<std::string> labels;
    for (auto& [id, file] : entries.images) {
        const auto category = entries.category_of_image.find(id);
        if (category == entries.category_of_image.end())
            throw Error(
                fmt::format("{}: image {} has no annotation", json.string(), display_name(file)));
        const auto label = entries.label_of_category.find(category->second);
        if (label == entries.label_of_category.end())
            throw Error(fmt::format("{}: category {}: no {} here nor in categories.json",
                                    json.string(), category->second, level));
        labels.push_back(label->second);
        list.files.push_back(std::move(file));
    }
    IndexedLabels indexed = index_labels(labels);
    list.labels = std::move(indexed.labels);
    list.classes = std::move(indexed.classes);
    return make_file_dataset(json.string(), std::move(list));
}

}  // namespace cait
