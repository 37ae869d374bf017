#include "data/formats/mat_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/display_name.h"
#include "cait/error.h"
#include "data/formats/gzip.h"

namespace cait {

namespace {

// Element types of the format.
enum MatType : std::uint32_t {
    mat_i8 = 1,
    mat_u8 = 2,
    mat_i16 = 3,
    mat_u16 = 4,
    mat_i32 = 5,
    mat_u32 = 6,
    mat_f32 = 7,
    mat_f64 = 9,
    mat_i64 = 12,
    mat_u64 = 13,
    mat_matrix = 14,
    mat_compressed = 15,
    mat_utf8 = 16,
    mat_utf16 = 17,
};
constexpr std::uint8_t kCellClass = 1;
constexpr std::uint8_t kStructClass = 2;
constexpr std::uint8_t kCharClass = 4;
constexpr std::uint8_t kSparseClass = 5;  // and above it numbers

constexpr std::size_t kHeader = 128;
constexpr std::size_t kLargest = std::size_t{1} << 25;     // the Cars devkit unpacks to 7 MB
constexpr std::size_t kMostValues = std::size_t{1} << 20;  // of one array of numbers
constexpr std::size_t kHighestRank = 32;
constexpr std::size_t kMostFieldNames = 10'000;  // of variables, and of the fields of a struct

struct Element {
    std::uint32_t type = 0;
    std::span<const std::byte> bytes;
};

class Cursor {
public:
    Cursor(std::span<const std::byte> bytes, const std::string& file)
        : bytes_(bytes), file_(file) {}

    bool at_end() const { return bytes_.size() < 8; }
    std::span<const std::byte> rest() const { return bytes_; }

    Element next() {
        if (bytes_.size() < 8) fail("truncated");
        const auto word = load(0);
        if (const std::uint32_t small = word >> 16; small != 0) {  // length and type share a word
            if (small > 4) fail("broken small element");
            const Element element{word & 0xffff, bytes_.subspan(4, small)};
            bytes_ = bytes_.subspan(8);
            return element;
        }
        const std::size_t size = load(4);
        if (size > bytes_.size() - 8) fail("truncated");
        const Element element{word, bytes_.subspan(8, size)};
        // Everything but compressed data is padded to 8 bytes.
        const std::size_t padded = word == mat_compressed ? size : (size + 7) / 8 * 8;
        bytes_ = bytes_.subspan(8 + std::min(padded, bytes_.size() - 8));
        return element;
    }

    MatArray array() { return array(next()); }

    MatArray array(const Element& element) const {
        if (element.type != mat_matrix) fail("expected an array");
        if (element.bytes.empty()) return {};
        Cursor inside(element.bytes, file_);
        MatArray result;
        const Element flags = inside.next();
        if (flags.bytes.size() < 8) fail("broken array flags");
        result.kind = std::uint8_t(flags.bytes[0]);
        const Element extents = inside.next();
        if (extents.bytes.size() / 4 > kHighestRank)
            fail(fmt::format("expected at most {} dimensions, found {}", kHighestRank,
                             extents.bytes.size() / 4));
        result.count = 1;
        for (std::size_t i = 0; i + 4 <= extents.bytes.size(); i += 4) {
            std::uint32_t extent = 0;
            std::memcpy(&extent, extents.bytes.data() + i, 4);
            if (__builtin_mul_overflow(result.count, std::size_t(extent), &result.count))
                fail("extents overflow");
        }
        const Element name = inside.next();
        result.name.assign(reinterpret_cast<const char*>(name.bytes.data()), name.bytes.size());
        result.rest = inside.rest();
        return result;
    }

    [[noreturn]] void fail(std::string_view what) const {
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
std::vector<double> values_as(std::span<const std::byte> bytes) {
    std::vector<double> values(bytes.size() / sizeof(T));
    for (std::size_t i = 0; i < values.size(); ++i) {
        T value;
        std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof value);
        values[i] = double(value);
    }
    return values;
}

std::vector<double> values_of(const Element& element) {
    switch (element.type) {
        case mat_i8: return values_as<std::int8_t>(element.bytes);
        case mat_u8: return values_as<std::uint8_t>(element.bytes);
        case mat_i16: return values_as<std::int16_t>(element.bytes);
        case mat_u16: return values_as<std::uint16_t>(element.bytes);
        case mat_i32: return values_as<std::int32_t>(element.bytes);
        case mat_u32: return values_as<std::uint32_t>(element.bytes);
        case mat_i64: return values_as<std::int64_t>(element.bytes);
        case mat_u64: return values_as<std::uint64_t>(element.bytes);
        case mat_f32: return values_as<float>(element.bytes);
        case mat_f64: return values_as<double>(element.bytes);
        default: return {};
    }
}

bool is_whole(double value) {
    constexpr double kExact = 9007199254740992;  // 2^53
    return std::fabs(value) < kExact && value == std::floor(value);
}

// What stands before the values of a struct array.
std::vector<std::string> field_names(Cursor& cursor) {
    const Element width_element = cursor.next();
    std::uint32_t width = 0;
    if (width_element.bytes.size() == 4) std::memcpy(&width, width_element.bytes.data(), 4);
    const Element names = cursor.next();
    if (width == 0 || names.bytes.size() % width != 0) cursor.fail("broken field names");
    if (names.bytes.size() / width > kMostFieldNames)
        cursor.fail(fmt::format("expected at most {} fields, found {}", kMostFieldNames,
                                names.bytes.size() / width));
    std::vector<std::string> fields;
    for (std::size_t i = 0; i < names.bytes.size(); i += width) {
        const auto* text = reinterpret_cast<const char*>(names.bytes.data() + i);
        fields.emplace_back(text, ::strnlen(text, width));
    }
    if (fields.empty()) cursor.fail("a struct array has no fields");
    return fields;
}

}  // namespace

MatFile::MatFile(std::span<const std::byte> bytes, std::string file)
    : file_(std::move(file)), room_(kLargest) {
    constexpr std::string_view kNewer = "MATLAB 7.3 MAT-file";
    if (bytes.size() >= kNewer.size() &&
        std::memcmp(bytes.data(), kNewer.data(), kNewer.size()) == 0)
        throw Error(fmt::format(
            "{}: expected a MATLAB level 5 file, found version 7.3: save it with -v7", file_));
    if (bytes.size() < kHeader || bytes[126] != std::byte{'I'} || bytes[127] != std::byte{'M'})
        throw Error(fmt::format("{}: expected a MATLAB level 5 file", file_));
    Cursor top(bytes.subspan(kHeader), file_);
    for (std::size_t count = 0; !top.at_end(); ++count) {
        const Element element = top.next();
        if (count == kMostFieldNames)
            top.fail(fmt::format("expected at most {} variables, found more", kMostFieldNames));
        if (element.type == mat_compressed) {
            // One byte more than there is room for tells too much from just enough.
            std::vector<std::byte> plain = inflate_zlib(element.bytes, room_ + 1, file_);
            if (plain.size() > room_)
                top.fail(fmt::format("unpacks to more than {} bytes", kLargest));
            room_ -= plain.size();
            add(unpacked_.emplace_back(std::move(plain)));
        } else if (element.type == mat_matrix) {
            variables_.push_back(top.array(element));
        }
    }
}

void MatFile::add(std::span<const std::byte> variable) {
    Cursor cursor(variable, file_);
    const Element element = cursor.next();
    if (element.type == mat_matrix) variables_.push_back(cursor.array(element));
}

std::vector<std::string> MatFile::names() const {
    std::vector<std::string> names;
    for (const MatArray& array : variables_) names.push_back(array.name);
    return names;
}

bool MatFile::has(std::string_view name) const {
    return std::ranges::find(variables_, name, &MatArray::name) != variables_.end();
}

const MatArray& MatFile::variable(std::string_view name) const {
    const auto found = std::ranges::find(variables_, name, &MatArray::name);
    if (found == variables_.end())
        throw Error(fmt::format("{}: expected a variable '{}', found {}", file_, name,
                                display_name(fmt::format("{}", fmt::join(names(), ", ")))));
    return *found;
}

std::vector<std::int64_t> MatFile::integers(const MatArray& array, std::string_view what) const {
    Cursor cursor(array.rest, file_);
    if (array.kind <= kSparseClass) cursor.fail(fmt::format("{}: expected numbers", what));
    const Element element = cursor.next();
    if (element.bytes.size() > kMostValues * sizeof(double))
        cursor.fail(fmt::format("{}: expected at most {} numbers", what, kMostValues));
    const std::vector<double> values = values_of(element);
    if (values.size() != array.count)
        cursor.fail(
            fmt::format("{}: expected {} numbers, found {}", what, array.count, values.size()));
    std::vector<std::int64_t> whole;
    whole.reserve(values.size());
    for (const double value : values) {
        if (!is_whole(value))
            cursor.fail(fmt::format("{}: expected whole numbers, found {}", what, value));
        whole.push_back(std::int64_t(value));
    }
    return whole;
}

std::int64_t MatFile::integer(const MatArray& array, std::string_view what) const {
    const std::vector<std::int64_t> values = integers(array, what);
    if (values.size() != 1)
        Cursor({}, file_).fail(
            fmt::format("{}: expected one number, found {}", what, values.size()));
    return values.front();
}

std::string MatFile::text(const MatArray& array, std::string_view what) const {
    Cursor cursor(array.rest, file_);
    if (array.kind != kCharClass) cursor.fail(fmt::format("{}: expected text", what));
    const Element element = cursor.next();
    const std::size_t step = element.type == mat_u16 || element.type == mat_utf16 ? 2 : 1;
    std::string text;
    for (std::size_t i = 0; i + step <= element.bytes.size(); i += step) {
        // UTF-16 beyond ASCII would need pairs of units; no label file has it.
        const bool plain = step == 1 || element.bytes[i + 1] == std::byte{0};
        if (!plain || (step == 2 && std::uint8_t(element.bytes[i]) > 0x7f))
            cursor.fail(fmt::format("{}: expected ASCII text", what));
        text += static_cast<char>(element.bytes[i]);
    }
    return text;
}

std::vector<std::string> MatFile::texts(const MatArray& cells, std::string_view what) const {
    Cursor cursor(cells.rest, file_);
    if (cells.kind != kCellClass) cursor.fail(fmt::format("{}: expected cells", what));
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < cells.count; ++i) texts.push_back(text(cursor.array(), what));
    return texts;
}

std::vector<std::string> MatFile::fields(const MatArray& structs) const {
    Cursor cursor(structs.rest, file_);
    if (structs.kind != kStructClass)
        cursor.fail(fmt::format("{}: expected a struct array", structs.name));
    return field_names(cursor);
}

// Values follow in order: all fields of the first struct, then of the second, and so on.
void MatFile::rows(const MatArray& structs, std::span<const std::string_view> fields,
                   const UseRow& use) const {
    const std::vector<std::string> all = this->fields(structs);
    std::vector<std::size_t> place_of(all.size(), fields.size());  // fields.size(): nobody's
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const auto found = std::ranges::find(all, fields[i]);
        if (found == all.end())
            Cursor({}, file_).fail(
                fmt::format("{}: expected a field '{}', found {}", structs.name, fields[i],
                            display_name(fmt::format("{}", fmt::join(all, ", ")))));
        place_of[std::size_t(found - all.begin())] = i;
    }
    Cursor cursor(structs.rest, file_);
    field_names(cursor);
    std::vector<MatArray> values(fields.size() + 1);
    for (std::size_t row = 0; row < structs.count; ++row) {
        for (const std::size_t place : place_of) values[place] = cursor.array();
        use(std::span(values).first(fields.size()));
    }
}

}  // namespace cait
