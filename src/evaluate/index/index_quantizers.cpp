#include "evaluate/index/index_quantizers.h"

#include <fmt/format.h>

namespace cait {

namespace {

constexpr std::uint64_t kMostBits = 24;  // of a group's code, as in FAISS

struct ScalarKind {
    std::size_t bits;               // of a component
    std::size_t ranges_per_column;  // numbers that training found, for each component
    std::size_t ranges;             // and for all of them
};

// By FAISS's ScalarQuantizer::QuantizerType.
constexpr ScalarKind kScalarKinds[] = {
    {8, 2, 0}, {4, 2, 0}, {8, 0, 2}, {4, 0, 2}, {16, 0, 0}, {8, 0, 0}, {6, 2, 0},
};

void check_codes(IndexFields& fields, std::size_t rows, std::size_t code_size) {
    const auto found = fields.take_array<std::uint8_t>("codes");
    if (found.size() % code_size != 0 || found.size() / code_size != rows)
        fields.fail(fmt::format("codes: expected {} of {} bytes, found {} bytes", rows, code_size,
                                found.size()));
}

}  // namespace

std::size_t check_scalar_quantizer(IndexFields& fields, std::size_t columns) {
    const auto number = fields.take<std::int32_t>();
    if (number < 0 || std::size_t(number) >= std::size(kScalarKinds))
        fields.fail(fmt::format("its scalar quantizer is of an unknown kind, {}", number));
    const ScalarKind& kind = kScalarKinds[number];
    const auto range = fields.take<std::int32_t>();  // how the ranges were found
    if (range < 0 || range > 3)
        fields.fail(fmt::format("range statistics: expected 0 to 3, found {}", range));
    fields.take<float>();
    fields.take_number("numbers of the scalar quantizer", columns, columns);
    const std::size_t code_size = (columns * kind.bits + 7) / 8;
    fields.take_number("bytes of a code", code_size, code_size);
    const auto trained =
        fields.take_array<float>("ranges", columns * kind.ranges_per_column + kind.ranges);
    fields.check_finite("ranges", trained);
    return code_size;
}

std::size_t check_product_quantizer(IndexFields& fields, std::size_t columns) {
    fields.take_number("numbers of the product quantizer", columns, columns);
    const std::uint64_t groups = fields.take_number("groups", 1, columns);
    if (columns % groups != 0)
        fields.fail(fmt::format("groups: {} do not divide {} numbers", groups, columns));
    const std::uint64_t bits = fields.take_number("bits of a group", 1, kMostBits);
    fields.check_finite("centroids", fields.take_array<float>("centroids", columns << bits));
    return (groups * bits + 7) / 8;
}

void check_scalar_index(IndexFields& fields, std::size_t rows, std::size_t columns) {
    check_codes(fields, rows, check_scalar_quantizer(fields, columns));
}

void check_product_index(IndexFields& fields, std::size_t rows, std::size_t columns) {
    check_codes(fields, rows, check_product_quantizer(fields, columns));
    const auto search = fields.take<std::int32_t>();
    if (search != 0) fields.fail(fmt::format("search type: expected 0, found {}", search));
    fields.take_flag("encode_signs");
    fields.take<std::int32_t>();  // a threshold of another search type
}

}  // namespace cait
