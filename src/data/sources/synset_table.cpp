#include "data/sources/synset_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <sstream>

#include "cait/error.h"
#include "core/display_name.h"
#include "core/file_bytes.h"
#include "data/class_list.h"
#include "data/sources/gzip.h"

namespace cait {

namespace {

// Element types of MATLAB's level 5 format that the table uses.
enum MatType : std::uint32_t {
    mat_i8 = 1,
    mat_u8 = 2,
    mat_i16 = 3,
    mat_u16 = 4,
    mat_i32 = 5,
    mat_u32 = 6,
    mat_f32 = 7,
    mat_f64 = 9,
    mat_matrix = 14,
    mat_compressed = 15,
    mat_utf8 = 16,
    mat_utf16 = 17,
};
constexpr std::uint8_t kStructClass = 2;
constexpr std::uint8_t kCharClass = 4;

struct Element {
    std::uint32_t type = 0;
    std::span<const std::byte> bytes;
};

struct Matrix {
    std::uint8_t kind = 0;
    std::string name;
    std::size_t count = 0;
    std::span<const std::byte> rest;  // what follows dimensions and name
};

class MatCursor {
public:
    MatCursor(std::span<const std::byte> bytes, const std::string& file)
        : bytes_(bytes), file_(file) {}

    bool at_end() const { return bytes_.size() < 8; }

    Element next() {
        if (bytes_.size() < 8) fail("truncated");
        const auto word = load(0);
        Element element;
        if (const std::uint32_t small = word >> 16; small != 0) {  // length and type share a word
            if (small > 4) fail("broken small element");
            element = {word & 0xffff, bytes_.subspan(4, small)};
            bytes_ = bytes_.subspan(8);
            return element;
        }
        const std::size_t size = load(4);
        if (size > bytes_.size() - 8) fail("truncated");
        element = {word, bytes_.subspan(8, size)};
        // Everything but compressed data is padded to 8 bytes.
        const std::size_t padded = word == mat_compressed ? size : (size + 7) / 8 * 8;
        bytes_ = bytes_.subspan(8 + std::min(padded, bytes_.size() - 8));
        return element;
    }

    Matrix matrix() { return matrix(next()); }

    Matrix matrix(const Element& element) const {
        if (element.type != mat_matrix) fail("expected a matrix");
        MatCursor inside(element.bytes, file_);
        if (element.bytes.empty()) return {};
        Matrix result;
        const Element flags = inside.next();
        if (flags.bytes.size() < 8) fail("broken array flags");
        result.kind = std::uint8_t(flags.bytes[0]);
        const Element extents = inside.next();
        result.count = 1;
        for (std::size_t i = 0; i + 4 <= extents.bytes.size(); i += 4) {
            std::uint32_t extent = 0;
            std::memcpy(&extent, extents.bytes.data() + i, 4);
            if (__builtin_mul_overflow(result.count, std::size_t(extent), &result.count))
                fail("extents overflow");
        }
        const Element name = inside.next();
        result.name.assign(reinterpret_cast<const char*>(name.bytes.data()), name.bytes.size());
        result.rest = inside.bytes_;
        return result;
    }

    [[noreturn]] void fail(const char* what) const {
        throw Error(fmt::format("{}: MATLAB file: {}", file_, what));
    }

private:
    std::uint32_t load(std::size_t at) const {
        std::uint32_t value = 0;
        std::memcpy(&value, bytes_.data() + at, 4);
        return value;
    }

    std::span<const std::byte> bytes_;
    const std::string& file_;
};

template <class T>
std::optional<double> first_as(const Element& element) {
    if (element.bytes.size() < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, element.bytes.data(), sizeof value);
    return double(value);
}

// The first value of a numeric matrix; MATLAB stores small numbers in small types.
std::optional<double> number_of(const Matrix& matrix, const std::string& file) {
    const Element element = MatCursor(matrix.rest, file).next();
    switch (element.type) {
        case mat_i8: return first_as<std::int8_t>(element);
        case mat_u8: return first_as<std::uint8_t>(element);
        case mat_i16: return first_as<std::int16_t>(element);
        case mat_u16: return first_as<std::uint16_t>(element);
        case mat_i32: return first_as<std::int32_t>(element);
        case mat_u32: return first_as<std::uint32_t>(element);
        case mat_f32: return first_as<float>(element);
        case mat_f64: return first_as<double>(element);
        default: return std::nullopt;
    }
}

std::string text_of(const Matrix& matrix, const std::string& file) {
    const MatCursor cursor(matrix.rest, file);
    if (matrix.kind != kCharClass) cursor.fail("WNID: expected text");
    const Element element = MatCursor(matrix.rest, file).next();
    const std::size_t step = element.type == mat_u16 || element.type == mat_utf16 ? 2 : 1;
    std::string text;
    for (std::size_t i = 0; i < element.bytes.size(); i += step)
        text += static_cast<char>(element.bytes[i]);
    return text;
}

// Field values follow in order: all fields of the first struct, then of the second, and so on.
std::vector<Synset> read_struct_array(const Matrix& table, const std::string& file) {
    MatCursor cursor(table.rest, file);
    const Element width_element = cursor.next();
    std::uint32_t width = 0;
    if (width_element.bytes.size() == 4) std::memcpy(&width, width_element.bytes.data(), 4);
    const Element names = cursor.next();
    if (width == 0 || names.bytes.size() % width != 0) cursor.fail("broken field names");
    std::vector<std::string> fields;
    for (std::size_t i = 0; i < names.bytes.size(); i += width) {
        const auto* text = reinterpret_cast<const char*>(names.bytes.data() + i);
        fields.emplace_back(text, ::strnlen(text, width));
    }
    if (fields.empty()) cursor.fail("synsets has no fields");

    std::vector<Synset> synsets;
    for (std::size_t i = 0; i < table.count; ++i) {
        Synset synset;
        for (const std::string& field : fields) {
            const Matrix value = cursor.matrix();
            if (field == "WNID") synset.wnid = text_of(value, file);
            if (field != "ILSVRC2012_ID") continue;
            const double id = number_of(value, file).value_or(0);
            if (!(id >= 1 && id < 1e6)) cursor.fail("ILSVRC2012_ID: expected a positive number");
            synset.id = std::size_t(id);
        }
        if (synset.id == 0 || synset.wnid.empty())
            cursor.fail("synsets: expected the fields ILSVRC2012_ID and WNID");
        synsets.push_back(std::move(synset));
    }
    return synsets;
}

std::vector<Synset> parse_text(const std::string& text, const std::string& file) {
    std::vector<Synset> synsets;
    std::istringstream lines(text);
    std::string line;
    for (std::size_t number = 1; std::getline(lines, line); ++number) {
        std::istringstream words(line);
        std::string first;
        std::string second;
        if (!(words >> first)) continue;
        words >> second;
        if (plain_number(first)) std::swap(first, second);
        const auto id = plain_number(second);
        if (!id || *id < 1 || plain_number(first))
            throw Error(fmt::format("{}:{}: expected a WordNet id and a number, found {}", file,
                                    number, display_name(line, 80)));
        synsets.push_back({std::size_t(*id), first});
    }
    return synsets;
}

}  // namespace

std::vector<Synset> parse_meta_mat(std::span<const std::byte> bytes, const std::string& file) {
    constexpr std::size_t kHeader = 128;
    constexpr std::size_t kLargest = std::size_t{1} << 26;  // the official one unpacks to 2 MB
    if (bytes.size() < kHeader || bytes[126] != std::byte{'I'} || bytes[127] != std::byte{'M'})
        throw Error(fmt::format("{}: expected a MATLAB level 5 file", file));
    MatCursor top(bytes.subspan(kHeader), file);
    while (!top.at_end()) {
        Element element = top.next();
        std::vector<std::byte> unpacked;
        if (element.type == mat_compressed) {
            unpacked = inflate_zlib(element.bytes, kLargest, file);
            element = MatCursor(unpacked, file).next();
        }
        if (element.type != mat_matrix) continue;
        const Matrix matrix = top.matrix(element);
        if (matrix.name == "synsets" && matrix.kind == kStructClass)
            return read_struct_array(matrix, file);
    }
    throw Error(fmt::format("{}: expected a struct array 'synsets'", file));
}

std::vector<Synset> read_synset_table(const std::filesystem::path& path) {
    if (path.extension() == ".mat") return parse_meta_mat(read_bytes(path), path.string());
    return parse_text(read_text(path), path.string());
}

}  // namespace cait
