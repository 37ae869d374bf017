// IDX, the format of MNIST and Fashion-MNIST: a big-endian header with the extents, then bytes.
// Files may be gzipped; then they are unpacked into memory once.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <limits>
#include <utility>

#include "cait/error.h"
#include "data/data_source.h"
#include "data/formats/gzip.h"
#include "image/codec/decode_memory.h"
#include "image/codec/image_limits.h"
#include "image/ops/colour_convert.h"
#include "image/view.h"
#include "system/mapped_file.h"
#include "system/memory_budget.h"

namespace cait {

namespace fs = std::filesystem;

namespace {

constexpr const char* kDebianFolder = "/usr/share/datasets";

// Unpacked bytes and what they take of the memory budget.
struct Unpacked {
    MemoryShare memory;
    std::vector<std::byte> bytes;
};

using ExtentsCheck = std::function<void(const std::vector<std::size_t>&)>;

// The bytes of an IDX file, mapped or unpacked, and its extents.
struct IdxArray {
    std::shared_ptr<const void> owner;
    std::vector<std::size_t> extents;
    const std::uint8_t* values = nullptr;
};

std::size_t big_endian(std::span<const std::byte> bytes) {
    std::size_t value = 0;
    for (const std::byte byte : bytes) value = value << 8 | std::size_t(byte);
    return value;
}

std::vector<std::size_t> read_extents(std::span<const std::byte> bytes, const std::string& file) {
    constexpr auto kUnsignedByte = std::byte{0x08};
    if (bytes.size() < 4 || bytes[0] != std::byte{0} || bytes[1] != std::byte{0})
        throw Error(
            fmt::format("{}: not an IDX file: expected it to start with two zero bytes", file));
    if (bytes[2] != kUnsignedByte)
        throw Error(fmt::format("{}: IDX type: expected 0x08 (unsigned byte), found 0x{:02x}", file,
                                std::uint8_t(bytes[2])));
    const auto rank = std::size_t(bytes[3]);
    if (rank < 1 || rank > 4)
        throw Error(fmt::format("{}: IDX rank: expected 1 to 4, found {}", file, rank));
    if (bytes.size() < 4 + 4 * rank) throw Error(fmt::format("{}: truncated IDX header", file));
    std::vector<std::size_t> extents;
    for (std::size_t i = 0; i < rank; ++i)
        extents.push_back(big_endian(bytes.subspan(4 + 4 * i, 4)));
    return extents;
}

void check_size(std::size_t found, std::size_t expected, const std::string& file, bool packed) {
    if (found != expected)
        throw Error(fmt::format("{}: IDX header needs {} bytes, found {}{}", file, expected, found,
                                packed && found > expected ? " or more" : ""));
}

// A header that promises much is compared with what is there before any of it is kept: some
// megabytes of gzip may hold gigabytes.
std::shared_ptr<Unpacked> unpack(std::span<const std::byte> bytes, std::size_t total,
                                 const std::string& file) {
    constexpr std::size_t kCountedFirst = std::size_t{64} << 20;
    constexpr std::size_t kHighestRatio = 1032;  // deflate cannot expand further than this
    // One byte more than needed shows whether there is more.
    const auto count = [&] {
        check_size(gunzipped_size(bytes, total + 1, file), total, file, true);
    };
    if (total / kHighestRatio > bytes.size()) count();
    auto unpacked = std::make_shared<Unpacked>();
    unpacked->memory = MemoryBudget::of_process().keep(total, file + ": unpacking");
    if (total > kCountedFirst) count();
    unpacked->bytes = gunzip(bytes, total + 1, file, total + 1);
    return unpacked;
}

// `check` sees the extents before anything is unpacked.
IdxArray read_idx(const fs::path& path, const ExtentsCheck& check) {
    constexpr std::size_t kLargestHeader = 20;
    const auto mapping = MappedFile::open(path);
    const bool packed = is_gzip(mapping->bytes());
    const std::string file = path.string();
    IdxArray array;
    array.extents = read_extents(
        packed ? gunzip(mapping->bytes(), kLargestHeader, file) : mapping->bytes(), file);
    std::size_t total = 1;
    for (const std::size_t extent : array.extents)
        if (__builtin_mul_overflow(total, extent, &total))
            throw Error(fmt::format("{}: IDX extents overflow", file));
    const std::size_t header = 4 + 4 * array.extents.size();
    if (__builtin_add_overflow(total, header, &total) ||
        total == std::numeric_limits<std::size_t>::max())
        throw Error(fmt::format("{}: IDX extents overflow", file));
    check(array.extents);

    std::span<const std::byte> bytes = mapping->bytes();
    array.owner = mapping;
    if (packed) {
        const std::shared_ptr<Unpacked> unpacked = unpack(bytes, total, file);
        bytes = unpacked->bytes;
        array.owner = unpacked;
    }
    check_size(bytes.size(), total, file, packed);
    array.values = reinterpret_cast<const std::uint8_t*>(bytes.data() + header);
    return array;
}

// Bytes of an image that is read without asking whether there is room for it.
constexpr std::size_t kSmall = std::size_t{1} << 16;

// Read once, checked and used from here: somebody may write into a file that is mapped.
struct IdxLabels {
    MemoryShare memory;
    std::vector<std::uint8_t> values;
};

class IdxDataset final : public Dataset {
public:
    IdxDataset(const fs::path& file, IdxArray images, IdxLabels labels, ClassList classes)
        : Dataset(file.string(), std::move(classes)),
          images_(std::move(images)),
          labels_(std::move(labels)) {}

    std::size_t size() const noexcept override { return images_.extents[0]; }
    std::string name(std::size_t i) const override {
        return fmt::format("{}: image {}", source(), i);
    }
    std::int64_t label(std::size_t i) const override { return std::int64_t(labels_.values[i]); }

    void read(std::size_t i, const DecodeOptions& options, Image& out) const override {
        const std::size_t pixels = images_.extents[1] * images_.extents[2];
        const std::size_t stored = images_.extents.size() == 4 ? images_.extents[3] : 1;
        const std::uint8_t* from = images_.values + i * pixels * stored;
        const bool spread = stored == 1 && options.channels == 3;
        const auto width = std::int64_t(images_.extents[2]);
        const auto height = std::int64_t(images_.extents[1]);
        const std::size_t channels = spread ? 3 : stored;
        MemoryShare memory;
        if (pixels * channels > kSmall) {  // thousands of digits a second need no account
            check_image_size(width, height, name(i), options.limits);
            memory = memory_to_decode(pixels * channels, name(i));
        }
        reshape(out, width, height, std::int64_t(channels));
        std::uint8_t* to = out.pixels.data();
        if (!spread)
            std::memcpy(to, from, pixels * stored);
        else
            for (std::size_t p = 0; p < pixels; ++p)
                to[3 * p] = to[3 * p + 1] = to[3 * p + 2] = from[p];
        if (out.channels == 3 && options.channels == 1) to_grey(out);
    }

private:
    IdxArray images_;
    IdxLabels labels_;
};

IdxArray read_images(const fs::path& path) {
    return read_idx(path, [&](const std::vector<std::size_t>& e) {
        const bool colour = e.size() == 4;
        if ((e.size() != 3 && !colour) || e[0] == 0 || e[1] == 0 || e[2] == 0 ||
            (colour && e[3] != 1 && e[3] != 3))
            throw Error(
                fmt::format("{}: expected images × height × width with at least one image, "
                            "found {}",
                            path.string(), fmt::join(e, " × ")));
        check_image_size(std::int64_t(e[2]), std::int64_t(e[1]), path.string(), {});
    });
}

IdxLabels read_labels(const fs::path& path, std::size_t count) {
    const IdxArray array = read_idx(path, [&](const std::vector<std::size_t>& e) {
        if (e.size() != 1 || e[0] != count)
            throw Error(fmt::format("{}: expected {} labels, found {}", path.string(), count,
                                    fmt::join(e, " × ")));
    });
    IdxLabels labels;
    labels.memory = MemoryBudget::of_process().keep(count, path.string() + ": labels");
    labels.values.assign(array.values, array.values + count);
    return labels;
}

// "train" and "images-idx3" make train-images-idx3-ubyte, perhaps with .gz, perhaps spelt with a
// dot as some mirrors have it.
std::optional<fs::path> find_array(const fs::path& folder, const std::string& part,
                                   std::string_view what) {
    const std::size_t dash = what.find('-');
    const std::string_view kind = what.substr(0, dash);
    const std::string_view rank = what.substr(dash + 1);
    for (const char separator : {'-', '.'})
        for (const char* packed : {"", ".gz"}) {
            fs::path path =
                folder / fmt::format("{}-{}{}{}-ubyte{}", part, kind, separator, rank, packed);
            if (fs::exists(path)) return path;
        }
    return std::nullopt;
}

// `names` empty: numbered by the labels that occur.
DatasetPtr open_arrays(const fs::path& image_file, const fs::path& label_file,
                       std::vector<std::string> names) {
    IdxArray images = read_images(image_file);
    IdxLabels labels = read_labels(label_file, images.extents[0]);
    const auto highest = std::size_t(*std::ranges::max_element(labels.values));
    ClassList classes{std::move(names), false};
    if (classes.names.empty()) {
        classes.numbered = true;
        for (std::size_t i = 0; i <= highest; ++i) classes.names.push_back(std::to_string(i));
    }
    if (highest >= classes.names.size())
        throw Error(fmt::format("{}: expected labels below {}, found {}", label_file.string(),
                                classes.names.size(), highest));
    return std::make_shared<IdxDataset>(image_file, std::move(images), std::move(labels),
                                        std::move(classes));
}

DatasetPtr open_folder(const DatasetUri& uri, const fs::path& folder, Split split,
                       std::vector<std::string> names, const std::string& hint = "") {
    const std::string part = split == Split::any || split == Split::train ? "train" : "t10k";
    const auto images = find_array(folder, part, "images-idx3");
    const auto labels = find_array(folder, part, "labels-idx1");
    if (!images || !labels)
        throw Error(fmt::format("{}: expected {}-{}-ubyte or {}-{}-ubyte.gz in {}{}", uri.text,
                                part, images ? "labels-idx1" : "images-idx3", part,
                                images ? "labels-idx1" : "images-idx3", folder.string(), hint));
    return open_arrays(*images, *labels, std::move(names));
}

// idx:PATH, a folder with {train,t10k}-images-idx3-ubyte and the labels beside them, or an image
// file with ?labels=FILE. Classes are numbered.
DatasetPtr open_idx(const DatasetUri& uri, Split split) {
    const auto labels = uri.option("labels");
    if (fs::is_directory(uri.path)) return open_folder(uri, uri.path, split, {});
    if (!labels)
        throw UsageError(
            fmt::format("{}: expected a folder, or an image file with ?labels=FILE", uri.text));
    return open_arrays(uri.path, *labels, {});
}

// The same with their class names. An empty path means where Debian's package puts the files.
DatasetPtr open_mnist(const DatasetUri& uri, Split split) {
    const fs::path folder =
        uri.path.empty() ? fs::path(kDebianFolder) / "mnist" : fs::path(uri.path);
    std::vector<std::string> names;
    for (int digit = 0; digit < 10; ++digit) names.push_back(std::to_string(digit));
    return open_folder(uri, folder, split, std::move(names));
}

DatasetPtr open_fashion_mnist(const DatasetUri& uri, Split split) {
    const fs::path folder =
        uri.path.empty() ? fs::path(kDebianFolder) / "fashion-mnist" : fs::path(uri.path);
    return open_folder(uri, folder, split,
                       {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt",
                        "Sneaker", "Bag", "Ankle boot"},
                       uri.path.empty() ? " (Debian's package dataset-fashion-mnist)" : "");
}

}  // namespace

std::vector<DataSource> idx_sources() {
    return {{.scheme = "idx",
             .form = "idx:PATH?labels=FILE&split=train|test",
             .help = "IDX files of images and labels",
             .options = {"split", "labels"},
             .open = open_idx,
             .is_layout = true,
             .val_is_test = true},
            {.scheme = "mnist",
             .form = "mnist:PATH?split=train|test",
             .help = "MNIST, IDX files, also gzipped",
             .options = {"split"},
             .open = open_mnist,
             .needs_path = false,
             .val_is_test = true},
            {.scheme = "fashion-mnist",
             .form = "fashion-mnist:PATH?split=train|test",
             .help = "Fashion-MNIST; without PATH the files of Debian's package",
             .options = {"split"},
             .open = open_fashion_mnist,
             .needs_path = false,
             .val_is_test = true}};
}

}  // namespace cait
