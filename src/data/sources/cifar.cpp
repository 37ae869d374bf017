// CIFAR-10 and CIFAR-100 in their official binary layout: records of one or two label bytes and
// 3072 bytes of 32×32 pixels, red plane first. The files stay mapped; nothing is unpacked.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/data_source.h"
#include "data/file_dataset.h"
#include "image/ops/colour_convert.h"
#include "image/view.h"
#include "system/mapped_file.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

constexpr std::int64_t kSide = 32;
constexpr std::size_t kPlane = kSide * kSide;
constexpr std::size_t kPixels = 3 * kPlane;

struct RecordFile {
    fs::path path;
    std::shared_ptr<const MappedFile> mapping;
    std::size_t first = 0;  // index of its first record
};

// One of the label bytes that open a record.
struct ByteLevel {
    std::string name;
    std::size_t byte = 0;
    ClassList classes;
    // Of all records, read once, checked and used from here: somebody may write into what is
    // mapped.
    std::vector<std::uint8_t> labels = {};
};

class CifarDataset final : public Dataset {
public:
    // `label_bytes` stand in front of the pixels of each record; `chosen` is label()'s.
    CifarDataset(std::string source, const std::vector<fs::path>& paths, std::size_t label_bytes,
                 std::vector<ByteLevel> levels, const std::string& chosen)
        : Dataset(std::move(source), find(levels, chosen)->classes),
          record_(label_bytes + kPixels),
          levels_(std::move(levels)),
          chosen_(std::size_t(find(levels_, chosen) - levels_.begin())) {
        for (const fs::path& path : paths) add_file(path);
        for (ByteLevel& level : levels_) read_labels(level);
    }

    std::size_t size() const noexcept override { return size_; }

    std::string name(std::size_t i) const override {
        const RecordFile& file = file_of(i);
        return fmt::format("{}: record {}", file.path.string(), i - file.first);
    }

    std::int64_t label(std::size_t i) const override {
        return std::int64_t(levels_[chosen_].labels[i]);
    }

    std::vector<std::string> levels() const override {
        std::vector<std::string> names;
        if (levels_.size() > 1)
            for (const ByteLevel& level : levels_) names.push_back(level.name);
        return names;
    }
    LabelLevel level(const std::string& wanted) const override {
        const auto found = find(levels_, wanted);
        if (found == levels_.end()) no_level(wanted);
        return {found->name, found->classes, {found->labels.begin(), found->labels.end()}};
    }

    void read(std::size_t i, const DecodeOptions& options, Image& out) const override {
        const auto* red = reinterpret_cast<const std::uint8_t*>(record(i) + record_ - kPixels);
        const std::uint8_t* green = red + kPlane;
        const std::uint8_t* blue = green + kPlane;
        reshape(out, kSide, kSide, 3);
        std::uint8_t* target = out.pixels.data();
        for (std::size_t p = 0; p < kPlane; ++p) {
            target[3 * p] = red[p];
            target[3 * p + 1] = green[p];
            target[3 * p + 2] = blue[p];
        }
        if (options.channels == 1) to_grey(out);
    }

private:
    static std::vector<ByteLevel>::const_iterator find(const std::vector<ByteLevel>& levels,
                                                       const std::string& name) {
        return std::ranges::find(levels, name, &ByteLevel::name);
    }

    void read_labels(ByteLevel& level) const {
        const std::size_t classes = level.classes.names.size();
        level.labels.reserve(size_);
        for (std::size_t i = 0; i < size_; ++i) {
            const auto label = std::uint8_t(record(i)[level.byte]);
            if (label >= classes)
                throw Error(
                    fmt::format("{}: label {}: expected less than {}", name(i), label, classes));
            level.labels.push_back(label);
        }
    }

    void add_file(const fs::path& path) {
        RecordFile file{path, MappedFile::open(path), size_};
        const std::size_t bytes = file.mapping->bytes().size();
        if (bytes == 0 || bytes % record_ != 0)
            throw Error(fmt::format("{}: expected records of {} bytes, found {} bytes",
                                    path.string(), record_, bytes));
        size_ += bytes / record_;
        files_.push_back(std::move(file));
    }

    const RecordFile& file_of(std::size_t i) const {
        std::size_t last = files_.size() - 1;
        while (files_[last].first > i) --last;  // one file, or five
        return files_[last];
    }

    const std::byte* record(std::size_t i) const {
        const RecordFile& file = file_of(i);
        return file.mapping->bytes().data() + (i - file.first) * record_;
    }

    std::size_t record_;
    std::vector<ByteLevel> levels_;
    std::size_t chosen_;  // of the levels, label()'s
    std::size_t size_ = 0;
    std::vector<RecordFile> files_;
};

// cifar10:PATH?split=train|test; without a split it is the training part.
DatasetPtr open_cifar10(const DatasetUri& uri, Split split) {
    const bool train = is_training(split);
    const fs::path folder =
        find_root(uri, "cifar-10-batches-bin", train ? "data_batch_1.bin" : "test_batch.bin");
    std::vector<fs::path> files;
    if (train)
        for (int i = 1; i <= 5; ++i) files.push_back(folder / fmt::format("data_batch_{}.bin", i));
    else
        files.push_back(folder / "test_batch.bin");
    std::vector<ByteLevel> levels{
        {"label", 0, {read_class_file(folder / "batches.meta.txt"), false}}};
    return std::make_shared<CifarDataset>(uri.text, files, 1, std::move(levels), "label");
}

// cifar100:PATH?labels=fine|coarse&split=train|test; the 100 fine labels by default. The
// others are there as a level (data/levels.h) where their names are.
DatasetPtr open_cifar100(const DatasetUri& uri, Split split) {
    const std::string labels = uri.option("labels").value_or("fine");
    if (labels != "fine" && labels != "coarse")
        throw UsageError(fmt::format("{}: labels: expected fine or coarse, found {}", uri.text,
                                     display_name(labels)));
    const std::string file = is_training(split) ? "train.bin" : "test.bin";
    const fs::path folder = find_root(uri, "cifar-100-binary", file);
    std::vector<ByteLevel> levels;
    for (const std::string name : {"coarse", "fine"})  // in the order of their bytes
        if (const fs::path names = folder / (name + "_label_names.txt");
            name == labels || fs::exists(names))
            levels.push_back({name, name == "fine" ? 1U : 0U, {read_class_file(names), false}});
    return std::make_shared<CifarDataset>(uri.text, std::vector<fs::path>{folder / file}, 2,
                                          std::move(levels), labels);
}

}  // namespace

std::vector<DataSource> cifar_sources() {
    return {{.scheme = "cifar10",
             .form = "cifar10:PATH?split=train|test",
             .help = "CIFAR-10, binary version",
             .options = {"split"},
             .open = open_cifar10,
             .val_is_test = true},
            {.scheme = "cifar100",
             .form = "cifar100:PATH?labels=fine|coarse&split=train|test",
             .help = "CIFAR-100, binary version",
             .options = {"split", "labels"},
             .open = open_cifar100,
             .val_is_test = true}};
}

}  // namespace cait
