#include "data/sources/tar_shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/display_name.h"
#include "base/text.h"
#include "cait/error.h"
#include "data/data_source.h"
#include "data/dataset_uri.h"
#include "data/formats/tar_archive.h"
#include "image/codec/image_name.h"
#include "system/file_bytes.h"
#include "system/file_guard.h"
#include "system/mapped_file.h"
#include "system/memory_budget.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLongestLabel = std::size_t{1} << 20;  // JSON that holds it, captions

struct Shard {
    std::string path;
    std::shared_ptr<const MappedFile> mapping;
    std::size_t first = 0;  // index of its first sample
};

struct TarSample {
    std::string member;  // name of the image inside the shard
    std::span<const std::byte> bytes;
    std::uint32_t shard = 0;
};

class TarDataset final : public Dataset {
public:
    TarDataset(std::string source, ClassList classes, std::vector<Shard> shards,
               std::vector<TarSample> samples, std::vector<std::int64_t> labels)
        : Dataset(std::move(source), std::move(classes)),
          shards_(std::move(shards)),
          samples_(std::move(samples)),
          labels_(std::move(labels)) {}

    std::size_t size() const noexcept override { return samples_.size(); }
    std::string name(std::size_t i) const override {
        return shards_[samples_[i].shard].path + ": " + samples_[i].member;
    }
    std::int64_t label(std::size_t i) const override { return labels_[i]; }
    void read(std::size_t i, const DecodeOptions& options, Image& out) const override {
        decode_image_into(out, copy_of(i), name(i), options);
    }
    std::optional<EncodedImage> encoded(std::size_t i) const override {
        return EncodedImage{std::string(extension_of(samples_[i].member)), copy_of(i)};
    }
    std::vector<std::size_t> stretches() const override {
        std::vector<std::size_t> firsts;
        for (const Shard& shard : shards_) firsts.push_back(shard.first);
        return firsts;
    }

private:
    // Decoders check a header and read it again: what is mapped could have changed meanwhile.
    std::vector<std::byte> copy_of(std::size_t i) const {
        const std::span<const std::byte> bytes = samples_[i].bytes;
        if (bytes.size() > kLargestFile)
            throw Error(fmt::format("{}: expected at most {} bytes, found {}", name(i),
                                    kLargestFile, bytes.size()));
        const MemoryShare memory = MemoryBudget::of_process().reserve(bytes.size(), name(i));
        return {bytes.begin(), bytes.end()};
    }

    std::vector<Shard> shards_;
    std::vector<TarSample> samples_;
    std::vector<std::int64_t> labels_;
};

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string json_label(std::string_view text, const std::string& where) {
    const auto json = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
    if (json.is_object())
        for (const char* key : {"cls", "label", "class"}) {
            const auto found = json.find(key);
            if (found == json.end()) continue;
            if (found->is_string()) return found->get<std::string>();
            if (found->is_number_unsigned()) return std::to_string(found->get<std::uint64_t>());
        }
    throw Error(fmt::format("{}: expected an object with 'cls', 'label' or 'class'", where));
}

// Collects the members of one shard into samples.
class ShardIndexer {
public:
    ShardIndexer(std::vector<TarSample>& samples, std::vector<std::string>& labels)
        : samples_(samples), labels_(labels) {}

    void run(const Shard& shard, std::uint32_t number) {
        shard_ = &shard;
        number_ = number;
        TarReader reader(shard.mapping->bytes(), shard.path);
        TarMember member;
        while (reader.next(member)) add(std::move(member));
        finish();
    }

private:
    // The key ends at the first dot of the last part; the rest is the extension ("seg.png").
    void add(TarMember member) {
        const std::size_t slash = member.name.find_last_of('/');
        const std::size_t base = slash == std::string::npos ? 0 : slash + 1;
        const std::size_t dot = member.name.find('.', base);
        if (dot == std::string::npos || dot == base) return;  // no extension, or a hidden file
        const std::string_view key = std::string_view(member.name).substr(0, dot);
        if (key != key_) {
            finish();
            key_ = std::string(key);
        }
        const std::string extension = lower_case(std::string_view(member.name).substr(dot + 1));
        if (extension == "cls" || extension == "json" || extension == "txt") {
            // .cls is the surest, .txt is often a caption.
            const int rank = extension == "cls" ? 3 : extension == "json" ? 2 : 1;
            if (rank <= label_rank_) return;
            label_rank_ = rank;
            label_ = std::move(member);
        } else if (is_image_name("x." + extension) && image_.name.empty()) {
            image_ = std::move(member);
        }
    }

    void finish() {
        const std::string where = shard_->path + ": " + key_;
        if (!image_.name.empty()) {
            if (label_rank_ == 0)
                throw Error(
                    fmt::format("{}: has no label: expected {}.cls, .json or .txt", where, key_));
            if (label_.bytes.size() > kLongestLabel)
                throw Error(fmt::format("{}: {}: expected a label of at most {} bytes, found {}",
                                        shard_->path, label_.name, kLongestLabel,
                                        label_.bytes.size()));
            const std::string text(reinterpret_cast<const char*>(label_.bytes.data()),
                                   label_.bytes.size());
            std::string label = label_rank_ == 2
                                    ? json_label(text, shard_->path + ": " + label_.name)
                                    : std::string(trimmed(text));
            if (label.empty()) throw Error(fmt::format("{}: the label is empty", where));
            labels_.push_back(std::move(label));
            samples_.push_back({std::move(image_.name), image_.bytes, number_});
        }
        image_ = {};
        label_ = {};
        label_rank_ = 0;
        key_.clear();
    }

    std::vector<TarSample>& samples_;
    std::vector<std::string>& labels_;
    const Shard* shard_ = nullptr;
    std::uint32_t number_ = 0;
    std::string key_;
    TarMember image_;
    TarMember label_;
    int label_rank_ = 0;
};

std::vector<std::string> shard_paths(const DatasetUri& uri) {
    if (!fs::is_directory(uri.path)) return expand_braces(uri.path);
    std::vector<std::string> paths;
    for (const fs::directory_entry& entry : fs::directory_iterator(uri.path))
        if (entry.path().extension() == ".tar") paths.push_back(entry.path().string());
    std::ranges::sort(paths);
    if (paths.empty()) throw Error(fmt::format("{}: expected *.tar, found none", uri.text));
    return paths;
}

// Numbers name positions in classes.txt, if there is one.
void apply_class_file(const fs::path& file, IndexedLabels& indexed) {
    std::vector<std::string> names = read_class_file(file);
    const std::string where = file.string();
    const std::vector<std::int64_t> map =
        indexed.classes.numbered ? map_numbered_classes(indexed.classes, names.size(), where)
                                 : map_classes(indexed.classes, names, where).positions;
    for (std::int64_t& label : indexed.labels) label = map[std::size_t(label)];
    indexed.classes = {std::move(names), false};
}

}  // namespace

std::vector<std::string> cut_shards(const DatasetUri& uri) {
    std::vector<std::string> cut;
    for (const std::string& path : shard_paths(uri)) {
        const auto mapping = MappedFile::open(path);
        TarReader reader(mapping->bytes(), path);
        TarMember member;
        while (reader.next(member)) {
        }
        if (!reader.has_end())
            cut.push_back(fmt::format(
                "{}: cut off: expected two blocks of zeros after the last member", path));
    }
    check_mapped_files();
    return cut;
}

namespace {

// PATH is a brace pattern, one file, or a folder of *.tar. The label is the text of .cls or .txt,
// or the field "cls", "label" or "class" of .json. Numbers are positions: a file classes.txt
// beside the shards gives them their names.
DatasetPtr open_tar_shards(const DatasetUri& uri, Split) {
    std::vector<Shard> shards;
    std::vector<TarSample> samples;
    std::vector<std::string> labels;
    ShardIndexer indexer(samples, labels);
    for (const std::string& path : shard_paths(uri)) {
        shards.push_back({path, MappedFile::open(path), samples.size()});
        indexer.run(shards.back(), std::uint32_t(shards.size() - 1));
    }
    if (samples.empty())
        throw Error(fmt::format("{}: holds no images with labels (key.jpg and key.cls)", uri.text));
    IndexedLabels indexed = index_labels(labels);
    const fs::path class_file = fs::path(shards.front().path).parent_path() / kShardClassFile;
    if (fs::exists(class_file)) apply_class_file(class_file, indexed);
    return std::make_shared<TarDataset>(uri.text, std::move(indexed.classes), std::move(shards),
                                        std::move(samples), std::move(indexed.labels));
}

}  // namespace

std::vector<DataSource> tar_shards_sources() {
    return {{.scheme = "tar",
             .form = "tar:PATH/{000..009}.tar",
             .help = "WebDataset shards: key.jpg with key.cls; `cait data pack` writes "
                     "shard-000000.tar and on",
             .open = open_tar_shards,
             .is_layout = true}};
}

}  // namespace cait
