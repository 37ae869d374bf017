#include "weights/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "base/printable.h"
#include "cait/error.h"
#include "system/atomic_file.h"
#include "system/mapped_file.h"
#include "weights/byte_reader.h"
#include "weights/metadata_json.h"
#include "weights/safetensors_header.h"

namespace cait {

namespace {

constexpr std::uint64_t kLongestHeader = 100'000'000;

// Size in bytes, refusing a product that wraps round: a wrapped one would pass every later check.
std::uint64_t byte_size(const TensorHeader& tensor, const std::string& file) {
    std::uint64_t bytes = size_of(tensor.dtype);
    for (const std::int64_t extent : tensor.shape)
        if (__builtin_mul_overflow(bytes, std::uint64_t(extent), &bytes))
            throw Error(fmt::format("{}: tensor '{}': overflow: shape {} has too many elements",
                                    file, printable(tensor.name), tensor.shape.to_string()));
    return bytes;
}

// Tensors must tile the data section: no overlap, no hole, nothing after the last one.
void check_layout(std::span<const TensorHeader> tensors, std::uint64_t data_size,
                  const std::string& file) {
    std::uint64_t expected = 0;
    for (const TensorHeader& tensor : tensors) {
        const auto fail = [&](const std::string& what) {
            throw Error(fmt::format("{}: tensor '{}': {}", file, printable(tensor.name), what));
        };
        if (tensor.end < tensor.begin || tensor.end > data_size)
            fail(fmt::format("data_offsets [{}, {}] lie outside the {} bytes of data", tensor.begin,
                             tensor.end, data_size));
        if (tensor.begin != expected)
            fail(fmt::format("data_offsets {}: expected to start at {}, found {}",
                             tensor.begin < expected ? "overlap" : "leave a hole", expected,
                             tensor.begin));
        const std::uint64_t bytes = byte_size(tensor, file);
        if (bytes != tensor.end - tensor.begin)
            fail(fmt::format("shape {} of {} needs {} bytes, data_offsets give {}",
                             tensor.shape.to_string(), name_of(tensor.dtype), bytes,
                             tensor.end - tensor.begin));
        expected = tensor.end;
    }
    if (expected != data_size)
        throw Error(
            fmt::format("{}: {} trailing bytes after the last tensor", file, data_size - expected));
}

std::string quoted(const std::string& text, const std::filesystem::path& path) {
    try {
        std::string result = nlohmann::json(text).dump();
        if (result.size() > kLongestMetadata)  // nobody could read it again
            throw Error(
                fmt::format("{}: cannot write '{}': expected texts of at most {} bytes, "
                            "found {}",
                            path.string(), printable(text, 40), kLongestMetadata, result.size()));
        return result;
    } catch (const nlohmann::json::exception&) {
        throw Error(
            fmt::format("{}: cannot write '{}': expected UTF-8", path.string(), printable(text)));
    }
}

std::string header_of(std::span<const NamedTensor* const> tensors,
                      const std::map<std::string, std::string>& metadata,
                      const std::filesystem::path& path) {
    std::string header = "{";
    if (!metadata.empty()) {
        header += "\"__metadata__\":{";
        for (const auto& [key, value] : metadata)
            header += quoted(key, path) + ":" + quoted(value, path) + ",";
        header.back() = '}';
        header += ',';
    }
    std::size_t offset = 0;
    for (const NamedTensor* entry : tensors) {
        const std::size_t end = offset + entry->tensor.byte_size();
        header +=
            fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}},)",
                        quoted(entry->name, path), safetensors_dtype_name(entry->tensor.dtype()),
                        fmt::join(entry->tensor.shape().extents(), ","), offset, end);
        offset = end;
    }
    if (header.back() == ',') header.pop_back();
    header += '}';
    header.resize((header.size() + 7) / 8 * 8, ' ');  // keeps the data aligned
    return header;
}

void check_writable(std::span<const NamedTensor> tensors, const std::filesystem::path& path) {
    std::set<std::string_view> names;
    for (const auto& [name, tensor] : tensors) {
        if (!tensor.defined())
            throw Error(fmt::format("{}: cannot write tensor '{}': it has no data", path.string(),
                                    printable(name)));
        if (name == "__metadata__" || !names.insert(name).second)
            throw Error(fmt::format("{}: cannot write tensor '{}': the name is taken",
                                    path.string(), printable(name)));
    }
}

}  // namespace

TensorFile TensorFile::open(const FilePlace& place) {
    const auto file = MappedFile::open(place);
    return parse(file, file->bytes(), place.string());
}

TensorFile TensorFile::parse(const std::shared_ptr<const void>& owner,
                             std::span<const std::byte> bytes, const std::string& name) {
    if (bytes.size() < sizeof(std::uint64_t))
        throw Error(fmt::format("{}: truncated header: expected at least 8 bytes, found {}", name,
                                bytes.size()));
    ByteReader reader(bytes, name);
    const auto length = reader.number<std::uint64_t>();
    if (length > kLongestHeader)
        throw Error(
            fmt::format("{}: header length {} is more than the {} bytes allowed (is this a "
                        "weight file?)",
                        name, length, kLongestHeader));
    if (length > reader.remaining())
        throw Error(fmt::format("{}: truncated header: expected {} bytes, found {}", name, length,
                                reader.remaining()));
    // A copy: what is mapped may change between the questions that are asked of it.
    const std::string text(reader.text(length));
    SafetensorsHeader header = parse_safetensors_header(text, name);
    // An empty tensor shares its offset with the next one and has to come first.
    std::ranges::stable_sort(header.tensors, {},
                             [](const TensorHeader& t) { return std::pair(t.begin, t.end); });
    const auto data = bytes.subspan(reader.position());
    check_layout(header.tensors, data.size(), name);

    TensorFile file;
    file.metadata = std::move(header.metadata);
    file.tensors.reserve(header.tensors.size());
    for (TensorHeader& tensor : header.tensors)
        file.tensors.push_back(
            {std::move(tensor.name), Tensor::view(tensor.dtype, std::move(tensor.shape),
                                                  data.data() + tensor.begin, owner)});
    return file;
}

void write_safetensors(const FilePlace& place, std::span<const NamedTensor> tensors,
                       const std::map<std::string, std::string>& metadata) {
    const std::filesystem::path path = place.path();
    check_writable(tensors, path);
    std::vector<const NamedTensor*> order;
    for (const NamedTensor& entry : tensors) order.push_back(&entry);
    std::ranges::sort(order, [](const NamedTensor* a, const NamedTensor* b) {
        const auto key = [](const NamedTensor* t) {
            return std::pair(-std::int64_t(size_of(t->tensor.dtype())), std::string_view(t->name));
        };
        return key(a) < key(b);
    });

    const std::string header = header_of(order, metadata, path);
    if (header.size() > kLongestHeader)
        throw Error(fmt::format("{}: cannot write a header of {} bytes, at most {}", path.string(),
                                header.size(), kLongestHeader));
    const std::uint64_t length = header.size();
    AtomicFile file(place);
    file.write(std::as_bytes(std::span(&length, 1)));
    file.write(header);
    for (const NamedTensor* entry : order)
        file.write({entry->tensor.bytes(), entry->tensor.byte_size()});
    file.commit();
}

}  // namespace cait
