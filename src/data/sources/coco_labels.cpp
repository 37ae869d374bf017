// COCO and what is annotated like it, as images with any number of classes: those of the things
// that are annotated in them. Boxes and masks are not read.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/data_source.h"
#include "data/file_dataset.h"
#include "system/counted_memory.h"
#include "system/file_bytes.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

struct CocoEntry {
    std::int64_t id = -1, image_id = -1, category_id = -1;
    std::string file_name, name;
};

struct CocoLists {
    std::vector<CocoEntry> images, categories;
    std::vector<std::pair<std::int64_t, std::int64_t>> annotations;  // image, category
};

// Picks the few fields that matter out of the event stream: masks would fill the memory.
class CocoEvents : public nlohmann::json_sax<nlohmann::json> {
public:
    CocoEvents(CocoLists& lists, CountedMemory& memory, std::string file)
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
        if (key_ == "file_name") entry_.file_name = value;
        if (key_ == "name") entry_.name = value;
        return true;
    }
    bool key(string_t& value) override {
        if (depth_ == 1) section_ = value;
        if (depth_ == kEntryDepth) key_ = value;
        return true;
    }
    bool start_object(std::size_t) override { return deeper(); }
    bool start_array(std::size_t) override { return deeper(); }
    bool end_object() override {
        if (depth_ == kEntryDepth) finish();
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

    bool deeper() {
        ++depth_;
        if (depth_ == kEntryDepth) {
            entry_ = {};
            key_.clear();
        }
        return true;
    }

    bool number(std::int64_t value) {
        if (depth_ != kEntryDepth) return true;
        if (key_ == "id") entry_.id = value;
        if (key_ == "image_id") entry_.image_id = value;
        if (key_ == "category_id") entry_.category_id = value;
        return true;
    }

    void require(bool there, const char* what) const {
        if (!there)
            throw Error(fmt::format("{}: {}: an entry (id {}) has no {}", file_, section_,
                                    entry_.id, what));
    }

    void finish() {
        if (section_ == "images") {
            require(entry_.id >= 0, "id");
            require(!entry_.file_name.empty(), "file_name");
            memory_.add_text(entry_.file_name);
            lists_.images.push_back(entry_);
        } else if (section_ == "categories") {
            require(entry_.id >= 0, "id");
            require(!entry_.name.empty(), "name");
            memory_.add_text(entry_.name);
            lists_.categories.push_back(entry_);
        } else if (section_ == "annotations") {
            require(entry_.image_id >= 0, "image_id");
            require(entry_.category_id >= 0, "category_id");
            memory_.add(2 * sizeof(std::int64_t));
            lists_.annotations.emplace_back(entry_.image_id, entry_.category_id);
        }
    }

    CocoLists& lists_;
    CountedMemory& memory_;
    std::string file_;
    int depth_ = 0;
    std::string section_, key_;
    CocoEntry entry_;
};

using Places = std::unordered_map<std::int64_t, std::size_t>;  // by id

Places places_of(const std::vector<CocoEntry>& entries, const char* what, const std::string& file) {
    Places places;
    for (const CocoEntry& entry : entries)
        if (!places.emplace(entry.id, places.size()).second)
            throw Error(fmt::format("{}: {}: id {} stands there twice", file, what, entry.id));
    return places;
}

std::size_t place_of(const Places& places, std::int64_t id, const char* what,
                     const std::string& file) {
    const auto found = places.find(id);
    if (found == places.end())
        throw Error(fmt::format("{}: annotations: expected an id of {}, found {}", file, what, id));
    return found->second;
}

// A list of strangers names files below the folder only.
void check_below(const std::string& name, const std::string& file) {
    const fs::path path = name;
    bool up = path.is_absolute();
    for (const fs::path& part : path) up = up || part == "..";
    if (up)
        throw Error(fmt::format("{}: images: expected a file_name below the folder, found {}", file,
                                display_name(name)));
}

DatasetPtr open_coco_labels(const DatasetUri& uri, Split) {
    const auto given = uri.option("json");
    if (!given)
        throw UsageError(
            fmt::format("{}: expected ?json=FILE, which says what is in the images", uri.text));
    constexpr std::size_t kLargestJson = std::size_t{1} << 32;
    const fs::path json = fs::path(*given).is_absolute() || fs::exists(*given)
                              ? fs::path(*given)
                              : fs::path(uri.path) / *given;
    const std::string file = json.string(), text = read_text(json, kLargestJson);
    CountedMemory memory(file);
    memory.add(text.size());
    CocoLists lists;
    CocoEvents events(lists, memory, file);
    nlohmann::json::sax_parse(text.data(), text.data() + text.size(), &events);
    if (lists.categories.empty()) throw Error(fmt::format("{}: expected categories", file));

    const Places images = places_of(lists.images, "images", file);
    const Places categories = places_of(lists.categories, "categories", file);
    FileList list;
    list.root = uri.path;
    std::set<std::string> names;
    for (CocoEntry& category : lists.categories) {
        if (!names.insert(category.name).second)
            throw Error(fmt::format("{}: categories: {} stands there twice", file,
                                    display_name(category.name)));
        list.classes.names.push_back(std::move(category.name));
    }
    for (CocoEntry& image : lists.images) {
        check_below(image.file_name, file);
        list.files.push_back(std::move(image.file_name));
    }
    std::vector<std::vector<std::int64_t>> answers(list.files.size());
    for (const auto& [image, category] : lists.annotations)
        answers[place_of(images, image, "an image", file)].push_back(
            std::int64_t(place_of(categories, category, "a category", file)));
    list.set_answers(std::move(answers));
    return make_file_dataset(file, std::move(list));
}

}  // namespace

std::vector<DataSource> coco_labels_sources() {
    return {{.scheme = "coco-labels",
             .form = "coco-labels:FOLDER?json=FILE",
             .help = "images of any number of classes, as COCO's annotations have them",
             .options = {"json"},
             .open = open_coco_labels,
             .is_layout = true}};
}

}  // namespace cait
