#include "data/pack.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cait/error.h"
#include "data/formats/tar_archive.h"
#include "data/random.h"
#include "data/sources/tar_shards.h"
#include "image/codec/encode.h"
#include "system/atomic_file.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

// A folder TARGET.tmp.N beside the target that takes its name at the end, or goes away. One that a
// killed program has left is locked no more: it is emptied and used again.
class AtomicFolder {
public:
    explicit AtomicFolder(fs::path target) : target_(std::move(target)) {
        if (!target_.has_filename()) target_ = target_.parent_path();  // "shards/"
        if (fs::exists(target_) && (!fs::is_directory(target_) || !fs::is_empty(target_)))
            throw Error(fmt::format("{}: expected a new or empty folder", target_.string()));
        for (int number = 0; temporary_.empty() && number < kMostTemporaries; ++number)
            claim(fmt::format("{}.tmp.{}", target_.string(), number));
        if (temporary_.empty())
            throw Error(
                fmt::format("{}: cannot create: {}.tmp.0 is taken, and so are {} names like it",
                            target_.string(), target_.string(), kMostTemporaries - 1));
    }
    AtomicFolder(const AtomicFolder&) = delete;
    AtomicFolder& operator=(const AtomicFolder&) = delete;
    ~AtomicFolder() {
        std::error_code ignored;
        if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
        if (lock_ >= 0) ::close(lock_);
    }

    const fs::path& path() const { return temporary_; }

    void commit() {
        std::error_code error;
        fs::rename(temporary_, target_, error);
        if (error)
            throw Error(fmt::format("{}: cannot create: {}", target_.string(), error.message()));
        temporary_.clear();
    }

private:
    static constexpr int kMostTemporaries = 100;

    void claim(const fs::path& name) {
        const bool made = ::mkdir(name.c_str(), 0777) == 0;
        if (!made && errno != EEXIST)
            throw Error(
                fmt::format("{}: cannot create: {}", target_.string(), std::strerror(errno)));
        lock_ = ::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (lock_ < 0) return;
        struct stat info {};
        const bool ours = ::fstat(lock_, &info) == 0 && info.st_uid == ::geteuid();
        if (ours && (::flock(lock_, LOCK_EX | LOCK_NB) == 0 || (made && errno != EWOULDBLOCK))) {
            temporary_ = name;
            for (const fs::directory_entry& entry : fs::directory_iterator(name))
                fs::remove_all(entry.path());
            return;
        }
        ::close(std::exchange(lock_, -1));
    }

    fs::path target_;
    fs::path temporary_;
    int lock_ = -1;
};

class ShardWriter {
public:
    ShardWriter(fs::path folder, const PackOptions& options)
        : folder_(std::move(folder)), options_(options) {}

    void add(const std::string& key, const EncodedImage& image, std::int64_t label) {
        if (!file_) file_.emplace(folder_ / fmt::format("{}-{:06}.tar", options_.prefix, shards_));
        member(key + "." + image.extension, image.bytes);
        const std::string text = std::to_string(label);
        member(key + ".cls", std::as_bytes(std::span(text)));
        if (in_shard_ >= options_.shard_bytes) close();
    }

    void close() {
        if (!file_) return;
        file_->write(tar_end());
        file_->commit();
        file_.reset();
        ++shards_;
        bytes_ += std::exchange(in_shard_, 0) + tar_end().size();
    }

    std::size_t shards() const { return shards_; }
    std::uint64_t bytes() const { return bytes_; }

private:
    void member(const std::string& name, std::span<const std::byte> content) {
        const std::string header = tar_header(name, content.size());
        const std::string padding = tar_padding(content.size());
        file_->write(header);
        file_->write(content);
        file_->write(padding);
        in_shard_ += header.size() + content.size() + padding.size();
    }

    fs::path folder_;
    const PackOptions& options_;
    std::optional<AtomicFile> file_;
    std::size_t shards_ = 0;
    std::uint64_t in_shard_ = 0;
    std::uint64_t bytes_ = 0;
};

EncodedImage encoded(const Dataset& dataset, std::size_t index) {
    if (auto stored = dataset.encoded(index)) return *std::move(stored);
    return {"png", encode_png(dataset.image(index))};
}

void write_class_file(const Dataset& dataset, const fs::path& path) {
    std::string names;
    for (const std::string& name : dataset.classes()) {
        if (name.find('\n') != std::string::npos)
            throw Error(fmt::format("{}: a class name holds a line end", dataset.source()));
        names += name + "\n";
    }
    AtomicFile file(path);
    file.write(names);
    file.commit();
}

PackResult pack_whole(const Dataset& dataset, const fs::path& folder, const PackOptions& options) {
    if (dataset.has_objects())
        throw UsageError(
            fmt::format("{}: expected images with one label each for shards, found objects in them",
                        dataset.source()));
    require_one_label(dataset, "shards");
    std::vector<std::uint32_t> order(dataset.size());
    std::iota(order.begin(), order.end(), 0U);
    if (options.shuffle) {
        RandomStream random(options.seed, "pack");
        shuffle(std::span(order), random);
    }
    AtomicFolder target(folder);
    ShardWriter writer(target.path(), options);
    for (std::size_t i = 0; i < order.size(); ++i) {
        writer.add(fmt::format("{:08}", i), encoded(dataset, order[i]), dataset.label(order[i]));
        if (options.progress) options.progress(i + 1);
    }
    writer.close();
    write_class_file(dataset, target.path() / kShardClassFile);
    target.commit();
    return {order.size(), writer.shards(), writer.bytes()};
}

}  // namespace

PackResult pack(const Dataset& dataset, const fs::path& folder, const PackOptions& options) {
    try {
        return pack_whole(dataset, folder, options);
    } catch (const fs::filesystem_error& error) {
        throw Error(fmt::format("{}: {}", folder.string(), error.what()));
    }
}

}  // namespace cait
