#include "weights/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/convert.h"
#include "base/printable.h"
#include "cait/error.h"
#include "system/atomic_file.h"
#include "system/mapped_file.h"
#include "weights/byte_reader.h"

namespace cait {

namespace {

using namespace std::string_view_literals;

constexpr std::string_view kMagic = "\x93NUMPY"sv;
constexpr std::size_t kAlignment = 64;  // of the data, as NumPy does it
constexpr std::size_t kHighestNpyRank = 64;

constexpr std::array kTypes{
    std::pair{"<f4"sv, DType::f32},     std::pair{"<f8"sv, DType::f64},
    std::pair{"<f2"sv, DType::f16},     std::pair{"|u1"sv, DType::u8},
    std::pair{"|i1"sv, DType::i8},      std::pair{"<i2"sv, DType::i16},
    std::pair{"<i4"sv, DType::i32},     std::pair{"<i8"sv, DType::i64},
    std::pair{"|b1"sv, DType::boolean},
};

struct Header {
    std::optional<DType> dtype;
    std::optional<bool> fortran_order;
    std::optional<std::vector<std::int64_t>> shape;
};

// The header is a Python dict literal with three known keys; nothing more general is understood.
class HeaderParser {
public:
    HeaderParser(std::string_view text, const std::string& file) : rest_(text), file_(file) {}

    Header parse() {
        expect('{');
        while (!accept('}')) {
            const std::string_view key = quoted();
            expect(':');
            if (key == "descr" && !header_.dtype)
                header_.dtype = descr();
            else if (key == "fortran_order" && !header_.fortran_order)
                header_.fortran_order = boolean();
            else if (key == "shape" && !header_.shape)
                header_.shape = extents();
            else
                fail(fmt::format("unexpected key '{}'", printable(key, 40)));
            if (!accept(',')) {
                expect('}');
                break;
            }
        }
        skip_space();
        if (!rest_.empty()) fail("text after the closing brace");
        if (!header_.dtype || !header_.fortran_order || !header_.shape)
            fail("expected descr, fortran_order and shape");
        return std::move(header_);
    }

private:
    [[noreturn]] void fail(const std::string& what) const {
        throw Error(fmt::format("{}: npy header: {}", file_, what));
    }

    void skip_space() {
        const std::size_t first = rest_.find_first_not_of(" \t\r\n");
        rest_.remove_prefix(first == std::string_view::npos ? rest_.size() : first);
    }

    bool accept(std::string_view token) {
        skip_space();
        if (!rest_.starts_with(token)) return false;
        rest_.remove_prefix(token.size());
        return true;
    }

    bool accept(char token) { return accept(std::string_view(&token, 1)); }

    void expect(char token) {
        if (!accept(token))
            fail(fmt::format("expected '{}', found '{}'", token, printable(rest_, 20)));
    }

    std::string_view quoted() {
        const char quote = accept('"') ? '"' : '\'';
        if (quote == '\'') expect('\'');
        const std::size_t end = rest_.find(quote);
        if (end == std::string_view::npos) fail("a string has no end");
        const std::string_view text = rest_.substr(0, end);
        rest_.remove_prefix(end + 1);
        return text;
    }

    DType descr() {
        skip_space();
        if (rest_.starts_with('[')) fail("structured arrays are not supported");
        const std::string_view text = quoted();
        for (const auto& [name, dtype] : kTypes)
            if (text == name) return dtype;
        if (text.starts_with('>')) fail(fmt::format("big-endian '{}'", printable(text, 40)));
        fail(fmt::format("dtype '{}' is not supported", printable(text, 40)));
    }

    bool boolean() {
        if (accept("True"sv)) return true;
        if (accept("False"sv)) return false;
        fail("fortran_order: expected True or False");
    }

    std::vector<std::int64_t> extents() {
        std::vector<std::int64_t> shape;
        expect('(');
        while (!accept(')')) {
            skip_space();
            std::int64_t extent = -1;
            const auto [end, error] =
                std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
            if (error != std::errc{} || extent < 0)
                fail(fmt::format("shape: expected a non-negative integer, found '{}'",
                                 printable(rest_, 24)));
            rest_.remove_prefix(std::size_t(end - rest_.data()));
            if (shape.size() == kHighestNpyRank) fail("shape: too many extents");
            shape.push_back(extent);
            if (!accept(',')) {
                expect(')');
                break;
            }
        }
        return shape;
    }

    std::string_view rest_;
    const std::string& file_;
    Header header_;
};

std::string_view type_name(DType dtype) {
    for (const auto& [name, candidate] : kTypes)
        if (candidate == dtype) return name;
    return "?";
}

}  // namespace

Tensor read_npy(const std::filesystem::path& path) {
    const auto file = MappedFile::open(path);
    return read_npy_bytes(file, file->bytes(), path.string());
}

Tensor read_npy_bytes(const std::shared_ptr<const void>& owner, std::span<const std::byte> bytes,
                      const std::string& name) {
    if (!as_text(bytes).starts_with(kMagic)) throw Error(fmt::format("{}: not a .npy file", name));
    ByteReader reader(bytes, name);
    reader.take(kMagic.size());
    const int major = reader.number<std::uint8_t>();
    reader.take(1);  // minor version
    if (major < 1 || major > 3)
        throw Error(fmt::format("{}: npy version {} is not supported", name, major));
    const std::uint64_t length =
        major == 1 ? reader.number<std::uint16_t>() : reader.number<std::uint32_t>();
    constexpr std::uint64_t kLongestHeader = std::uint64_t{1} << 20;
    if (length > kLongestHeader)
        throw Error(fmt::format("{}: npy header: expected at most {} bytes, found {}", name,
                                kLongestHeader, length));
    // A copy: what is mapped may change between the questions that are asked of it.
    const std::string text(reader.text(length));
    Header header = HeaderParser(text, name).parse();

    Shape shape(std::move(*header.shape));
    if (*header.fortran_order)
        throw Error(fmt::format("{}: expected C order, found Fortran order", name));
    std::uint64_t expected = size_of(*header.dtype);
    for (const std::int64_t extent : shape)
        if (__builtin_mul_overflow(expected, std::uint64_t(extent), &expected))
            throw Error(fmt::format("{}: overflow: shape {}", name, shape.to_string()));
    if (expected != reader.remaining())
        throw Error(fmt::format("{}: shape {} of {} needs {} bytes, found {}", name,
                                shape.to_string(), name_of(*header.dtype), expected,
                                reader.remaining()));
    const std::byte* data = reader.take(expected).data();
    if (reinterpret_cast<std::uintptr_t>(data) % size_of(*header.dtype) == 0)
        return Tensor::view(*header.dtype, std::move(shape), data, owner);
    Tensor copy = Tensor::empty(*header.dtype, std::move(shape));
    std::memcpy(copy.mutable_bytes().data(), data, copy.byte_size());
    return copy;
}

void write_npy(const std::filesystem::path& path, const Tensor& tensor) {
    if (!tensor.defined())
        throw Error(fmt::format("{}: cannot write a tensor without data", path.string()));
    const Tensor data = tensor.dtype() == DType::bf16 ? convert(tensor, DType::f32) : tensor;
    const std::vector<std::int64_t>& extents = data.shape().extents();
    const std::string header = fmt::format(
        "{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", type_name(data.dtype()),
        fmt::join(extents, ", "), extents.size() == 1 ? "," : "");
    constexpr std::size_t kFixed = kMagic.size() + 4;  // version and length
    std::string start(kMagic);
    const std::size_t total =
        (kFixed + header.size() + 1 + kAlignment - 1) / kAlignment * kAlignment;
    const std::size_t length = total - kFixed;
    start += {'\x01', '\x00', char(length & 0xff), char(length >> 8)};
    start += header;
    start.resize(total - 1, ' ');
    start += '\n';

    AtomicFile file(path);
    file.write(start);
    file.write({data.bytes(), data.byte_size()});
    file.commit();
}

}  // namespace cait
