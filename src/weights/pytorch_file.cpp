#include "weights/pytorch_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/printable.h"
#include "cait/error.h"
#include "weights/byte_reader.h"
#include "weights/pickle.h"
#include "weights/state_dict.h"
#include "weights/strided_tensor.h"
#include "weights/zip_directory.h"

namespace cait {

namespace {

using namespace std::string_view_literals;
using Kind = PickleValue::Kind;

constexpr std::string_view kZipMagic = "PK\x03\x04"sv;
constexpr std::string_view kLegacyMagic = "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv;
constexpr std::int64_t kLegacyProtocol = 1001;
constexpr std::size_t kHighestStoredRank = 64;

using Storages = std::unordered_map<std::string, std::span<const std::byte>>;

// The fields of a storage's persistent id that matter.
struct StorageId {
    std::string_view key;
    std::int64_t count = 0;
    std::optional<DType> dtype;
};

StorageId storage_id(const PickleDocument& pickle, const PickleValue& storage,
                     const std::string& where) {
    const auto fields = pickle.items(storage);
    const PickleValue& key = pickle[fields[2]];
    const PickleValue& count = pickle[fields[4]];
    if (key.kind != Kind::text || count.kind != Kind::integer || count.integer < 0)
        throw Error(fmt::format("{}: a storage has no key or no size", where));
    return {key.text, count.integer, storage.dtype};
}

std::vector<std::int64_t> integers(const PickleDocument& pickle, PickleId id,
                                   const std::string& where) {
    const bool is_sequence = pickle[id].kind == Kind::tuple || pickle[id].kind == Kind::list;
    if (!is_sequence || pickle.items(id).size() > kHighestStoredRank)
        throw Error(fmt::format("{}: expected at most {} extents, found {}", where,
                                kHighestStoredRank,
                                is_sequence ? "more" : kind_name(pickle[id].kind)));
    std::vector<std::int64_t> values;
    for (const PickleId item : pickle.items(id)) {
        if (pickle[item].kind != Kind::integer)
            throw Error(fmt::format("{}: expected an integer extent, found {}", where,
                                    kind_name(pickle[item].kind)));
        values.push_back(pickle[item].integer);
    }
    return values;
}

// Turns the tensor values of a pickle into tensors, given the raw storages.
class TensorReader {
public:
    TensorReader(const PickleDocument& pickle, const Storages& storages, std::size_t file_size,
                 const std::shared_ptr<const void>& owner, const std::string& file)
        : pickle_(pickle), storages_(storages), file_size_(file_size), owner_(owner), file_(file) {}

    Tensor read(const StateDict::Entry& entry) {
        const std::string where = fmt::format("{}: tensor '{}'", file_, printable(entry.name));
        const PickleValue& value = pickle_[entry.tensor];
        const auto fields = pickle_.items(value);
        StridedTensor tensor;
        tensor.dtype = dtype_of(value, where);
        tensor.storage = storage_of(pickle_[fields[0]], where);
        if (pickle_[fields[1]].kind != Kind::integer)
            throw Error(fmt::format("{}: the storage offset is not an integer", where));
        tensor.offset = pickle_[fields[1]].integer;
        tensor.extents = integers(pickle_, fields[2], where);
        tensor.strides = integers(pickle_, fields[3], where);
        limit_copies(tensor, checked_byte_size(tensor, where), where);
        return dense_tensor(tensor, owner_);
    }

private:
    DType dtype_of(const PickleValue& tensor, const std::string& where) const {
        const auto fields = pickle_.items(tensor);
        std::optional<DType> dtype = pickle_[fields[0]].dtype;
        PickleId name = pickle_.items(fields[0])[1];
        if (tensor.global == GlobalKind::rebuild_tensor_dtype) {
            name = fields[6];
            dtype = pickle_[name].dtype;
        }
        if (!dtype)
            throw Error(fmt::format("{}: dtype '{}' is not supported", where,
                                    printable(pickle_[name].text)));
        return *dtype;
    }

    std::span<const std::byte> storage_of(const PickleValue& storage,
                                          const std::string& where) const {
        const StorageId id = storage_id(pickle_, storage, where);
        const auto found = storages_.find(std::string(id.key));
        if (found == storages_.end())
            throw Error(fmt::format("{}: storage '{}' is missing", where, printable(id.key)));
        const std::size_t element = size_of(id.dtype.value_or(DType::u8));
        if (std::uint64_t(id.count) != found->second.size() / element ||
            found->second.size() % element != 0)
            throw Error(
                fmt::format("{}: storage '{}': expected {} elements of {} bytes, found {} "
                            "bytes",
                            where, printable(id.key), id.count, element, found->second.size()));
        return view_of(storage, found->second, element, where);
    }

    // Old files may hold a view of a storage: (key, offset, size) in elements.
    std::span<const std::byte> view_of(const PickleValue& storage, std::span<const std::byte> bytes,
                                       std::size_t element, const std::string& where) const {
        const auto fields = pickle_.items(storage);
        if (fields.size() < 6 || pickle_[fields[5]].kind != Kind::tuple) return bytes;
        const auto view = pickle_.items(fields[5]);
        if (view.size() != 3 || pickle_[view[1]].kind != Kind::integer ||
            pickle_[view[2]].kind != Kind::integer)
            throw Error(fmt::format("{}: malformed view of a storage", where));
        const auto available = std::int64_t(bytes.size() / element);
        const std::int64_t offset = pickle_[view[1]].integer, size = pickle_[view[2]].integer;
        if (offset < 0 || size < 0 || offset > available || size > available - offset)
            throw Error(fmt::format("{}: a view of a storage reaches outside it", where));
        return bytes.subspan(std::size_t(offset) * element, std::size_t(size) * element);
    }

    // Expanded tensors are small in the file and may be huge as copies.
    void limit_copies(const StridedTensor& tensor, std::size_t bytes, const std::string& where) {
        constexpr std::size_t kMostCopies = 4;  // of the whole file, all tensors together
        if (is_row_major(tensor)) return;
        copied_ += bytes;
        if (bytes > file_size_ || copied_ / kMostCopies > file_size_)
            throw Error(fmt::format("{}: expanded to {} bytes, more than the file's {}", where,
                                    bytes, file_size_));
    }

    const PickleDocument& pickle_;
    const Storages& storages_;
    std::size_t file_size_;
    const std::shared_ptr<const void>& owner_;
    const std::string& file_;
    std::size_t copied_ = 0;
};

// The one entry called data.pkl; what precedes the name is the folder of all the others.
std::string find_folder(const ZipDirectory& zip, const std::string& name) {
    std::optional<std::string> folder;
    for (const ZipEntry& entry : zip.entries()) {
        const std::size_t slash = entry.name.rfind('/');
        const std::size_t start = slash == std::string::npos ? 0 : slash + 1;
        if (entry.name.substr(start) != "data.pkl") continue;
        if (folder) throw Error(fmt::format("{}: zip holds more than one data.pkl", name));
        folder = entry.name.substr(0, start);
    }
    if (!folder)
        throw Error(fmt::format("{}: a zip archive without data.pkl, so not by torch.save", name));
    return *folder;
}

PickleDocument read_zip(std::span<const std::byte> bytes, const std::string& name,
                        Storages& storages) {
    const ZipDirectory zip = ZipDirectory::read(bytes, name);
    const std::string folder = find_folder(zip, name);
    if (const auto order = zip.find(folder + "byteorder"); order && as_text(*order) != "little")
        throw Error(fmt::format("{}: byteorder: expected 'little', found '{}'", name,
                                printable(as_text(*order), 20)));
    const std::string data = folder + "data/";
    for (const ZipEntry& entry : zip.entries())
        if (entry.name.starts_with(data))
            storages.emplace(entry.name.substr(data.size()), entry.bytes);
    return parse_pickle(*zip.find(folder + "data.pkl"), name);
}

// Element sizes by key; the raw data that follows the pickles gives only the numbers of elements.
std::unordered_map<std::string_view, std::size_t> element_sizes(const PickleDocument& pickle,
                                                                const std::string& name) {
    std::unordered_map<std::string_view, std::size_t> sizes;
    for (PickleId id = 0; id < pickle.size(); ++id) {
        if (pickle[id].kind != Kind::storage) continue;
        const StorageId storage = storage_id(pickle, pickle[id], name);
        if (!storage.dtype)
            throw Error(fmt::format("{}: storage '{}': class '{}' is not supported", name,
                                    printable(storage.key),
                                    printable(pickle[pickle.items(id)[1]].text)));
        const std::size_t size = size_of(*storage.dtype);
        if (sizes.emplace(storage.key, size).first->second != size)
            throw Error(fmt::format("{}: storage '{}' has two element sizes", name,
                                    printable(storage.key)));
    }
    return sizes;
}

void check_little_endian(const PickleDocument& system, const std::string& name) {
    if (system[system.root()].kind != Kind::dict) return;
    const auto items = system.items(system.root());
    for (std::size_t i = 0; i + 1 < items.size(); i += 2)
        if (system[items[i]].text == "little_endian" && system[items[i + 1]].integer != 1)
            throw Error(fmt::format("{}: byte order: expected little-endian", name));
}

PickleDocument read_legacy(std::span<const std::byte> bytes, const std::string& name,
                           Storages& storages) {
    std::span<const std::byte> rest = bytes;
    const auto next = [&] {
        PickleDocument pickle = parse_pickle(rest, name);
        rest = rest.subspan(pickle.consumed());
        return pickle;
    };
    if (const auto magic = next(); magic[magic.root()].text != kLegacyMagic)
        throw Error(fmt::format("{}: a pickle, but not one by torch.save", name));
    if (const auto protocol = next(); protocol[protocol.root()].integer != kLegacyProtocol)
        throw Error(fmt::format("{}: expected protocol {}, found {}", name, kLegacyProtocol,
                                protocol[protocol.root()].integer));
    check_little_endian(next(), name);
    PickleDocument pickle = next();
    const PickleDocument keys = next();
    if (keys[keys.root()].kind != Kind::list)
        throw Error(fmt::format("{}: expected a list of storage keys, found {}", name,
                                kind_name(keys[keys.root()].kind)));

    const auto sizes = element_sizes(pickle, name);
    ByteReader reader(rest, name + ": storages");
    for (const PickleId id : keys.items(keys.root())) {
        const auto size = sizes.find(keys[id].text);
        if (keys[id].kind != Kind::text || size == sizes.end())
            throw Error(fmt::format("{}: storage '{}' belongs to no tensor", name,
                                    printable(keys[id].text)));
        const auto count = reader.number<std::int64_t>();
        if (count < 0 || std::uint64_t(count) > reader.remaining() / size->second)
            throw Error(fmt::format("{}: truncated: storage '{}' claims {} elements, {} bytes left",
                                    name, printable(keys[id].text), count, reader.remaining()));
        storages.emplace(std::string(size->first),
                         reader.take(std::uint64_t(count) * size->second));
    }
    if (reader.remaining() != 0)
        throw Error(
            fmt::format("{}: {} trailing bytes after the last storage", name, reader.remaining()));
    return pickle;
}

}  // namespace

namespace {

// Protocol 0 is text and has no signature; one that begins with a global ("cmodule\nname\n") is a
// favourite of people who mean harm, and deserves the message that says so.
bool starts_with_global(std::string_view text) {
    constexpr std::size_t kLongestName = 100;
    const std::size_t end = text.substr(0, kLongestName).find('\n');
    const auto in_name = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    };
    return text.starts_with('c') && end != std::string_view::npos && end > 1 &&
           std::ranges::all_of(text.substr(0, end), in_name);
}

}  // namespace

bool looks_like_pytorch(std::span<const std::byte> bytes) {
    const std::string_view text = as_text(bytes);
    const bool pickle = text.size() > 1 && text[0] == '\x80' && text[1] >= 1 && text[1] <= 5;
    return pickle || text.starts_with(kZipMagic) || starts_with_global(text);
}

WeightFile read_pytorch(const std::shared_ptr<const void>& owner, std::span<const std::byte> bytes,
                        const std::string& name, const OpenOptions& options) {
    const bool zip = as_text(bytes).starts_with(kZipMagic);
    Storages storages;
    const PickleDocument pickle =
        zip ? read_zip(bytes, name, storages) : read_legacy(bytes, name, storages);
    StateDict state = find_state_dict(pickle, options.prefer_ema, name);

    WeightFile file;
    file.format = zip ? "pytorch zip" : "pytorch legacy";
    TensorReader reader(pickle, storages, bytes.size(), owner, name);
    file.tensors.reserve(state.entries.size());
    for (StateDict::Entry& entry : state.entries) {
        Tensor tensor = reader.read(entry);
        file.tensors.push_back({std::move(entry.name), std::move(tensor)});
    }
    file.skipped = std::move(state.skipped);
    file.note = std::move(state.note);
    return file;
}

}  // namespace cait
