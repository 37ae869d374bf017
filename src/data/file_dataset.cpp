#include "data/file_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cait/error.h"
#include "system/file_bytes.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

class FileDataset final : public Dataset {
public:
    FileDataset(std::string source, FileList list)
        : Dataset(std::move(source), std::move(list.classes)), list_(std::move(list)) {
        for (std::string& note : list_.notes) add_note(std::move(note));
    }

    std::size_t size() const noexcept override { return list_.files.size(); }
    std::string name(std::size_t i) const override { return path(i).string(); }
    void read(std::size_t i, const DecodeOptions& options, Image& out) const override {
        const std::filesystem::path file_path = path(i);
        decode_image_into(out, read_bytes(file_path), file_path.string(), options);
    }
    std::int64_t label(std::size_t i) const override {
        return list_.labels.empty() ? kUnlabelled : list_.labels[i];
    }
    std::vector<std::int64_t> labels(std::size_t i) const override {
        return list_.answers.empty() ? Dataset::labels(i) : list_.answers[i];
    }
    std::vector<std::string> levels() const override {
        std::vector<std::string> names;
        for (const LabelLevel& level : list_.levels) names.push_back(level.name);
        return names;
    }
    LabelLevel level(const std::string& name) const override {
        const auto found = std::ranges::find(list_.levels, name, &LabelLevel::name);
        if (found == list_.levels.end()) no_level(name);
        if (list_.group_of.empty()) return *found;
        LabelLevel result{found->name, found->classes, {}};
        for (const std::int64_t group : list_.group_of)
            result.labels.push_back(found->labels[std::size_t(group)]);
        return result;
    }
    std::optional<std::filesystem::path> file(std::size_t i) const override { return path(i); }

    bool has_objects() const override { return list_.objects.has_value(); }
    bool has_object_masks() const override { return list_.object_masks; }
    std::vector<Object> objects(std::size_t i) const override {
        return list_.objects ? (*list_.objects)[i] : Dataset::objects(i);
    }
    std::int64_t image_number(std::size_t i) const override {
        return list_.image_numbers.empty() ? Dataset::image_number(i) : list_.image_numbers[i];
    }
    std::vector<std::int64_t> class_numbers() const override {
        return list_.class_numbers.empty() ? Dataset::class_numbers() : list_.class_numbers;
    }

private:
    std::filesystem::path path(std::size_t i) const { return list_.root / list_.files[i]; }

    FileList list_;
};

}  // namespace

void FileList::set_answers(std::vector<std::vector<std::int64_t>> all) {
    answers = std::move(all);
    labels.clear();
    for (std::vector<std::int64_t>& one : answers) {
        std::ranges::sort(one);
        one.erase(std::ranges::unique(one).begin(), one.end());
        labels.push_back(one.empty() ? kUnlabelled : one.front());
    }
}

DatasetPtr make_file_dataset(std::string source, FileList list) {
    if (list.files.empty()) throw Error(fmt::format("{}: holds no images", source));
    return std::make_shared<FileDataset>(std::move(source), std::move(list));
}

fs::path find_root(const DatasetUri& uri, const std::string& unpacked, const std::string& file) {
    for (const fs::path& folder : {fs::path(uri.path), fs::path(uri.path) / unpacked}) {
        if (fs::exists(folder / file)) return folder;
        for (const char* packed : {".xz", ".gz"})
            if (fs::exists(folder / (file + packed)))
                throw Error(
                    fmt::format("{}: found {}{}, expected {}: unpack it first ({} -dk {}{})",
                                uri.text, file, packed, file, packed[1] == 'x' ? "xz" : "gzip",
                                (folder / file).string(), packed));
    }
    throw Error(fmt::format("{}: expected {} in {} or in {}", uri.text, file,
                            fs::path(uri.path).string(), (fs::path(uri.path) / unpacked).string()));
}

}  // namespace cait
