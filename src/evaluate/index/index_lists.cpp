#include "evaluate/index/index_lists.h"

#include <fmt/format.h>

#include "base/display_name.h"

namespace cait {

namespace {

// The lengths of all lists, written for all of them or as pairs for those that are not empty.
std::vector<std::uint64_t> take_lengths(IndexFields& fields, const ListSizes& sizes) {
    const std::string form = fields.take_tag();
    std::vector<std::uint64_t> lengths(sizes.lists);
    if (form == "full") {
        const auto all = fields.take_array<std::uint64_t>("lengths of lists", sizes.lists);
        for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = all[i];
        return lengths;
    }
    if (form != "sprs")
        fields.fail(fmt::format("lengths of lists: unknown form {}", display_name(form)));
    const auto pairs = fields.take_array<std::uint64_t>("lengths of lists");
    if (pairs.size() % 2 != 0) fields.fail("lengths of lists: expected pairs");
    std::uint64_t next = 0;
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
        if (pairs[i] < next || pairs[i] >= sizes.lists)
            fields.fail(fmt::format("lengths of lists: expected a list from {} to {}, found {}",
                                    next, sizes.lists - 1, pairs[i]));
        lengths[pairs[i]] = pairs[i + 1];
        next = pairs[i] + 1;
    }
    return lengths;
}

void check_total(const IndexFields& fields, const std::vector<std::uint64_t>& lengths,
                 std::size_t rows) {
    std::uint64_t left = rows;
    for (const std::uint64_t length : lengths) {
        if (length > left)
            fields.fail(fmt::format("its lists hold more than the {} vectors of the index", rows));
        left -= length;
    }
    if (left != 0)
        fields.fail(
            fmt::format("its lists hold {} of the {} vectors of the index", rows - left, rows));
}

void check_direct_map(const IndexFields& fields, const StoredArray<std::int64_t>& map,
                      const std::vector<std::uint64_t>& lengths) {
    for (std::size_t row = 0; row < map.size(); ++row) {
        const std::int64_t place = map[row];
        if (place < 0 || std::uint64_t(place) >> 32 >= lengths.size() ||
            (std::uint64_t(place) & UINT32_MAX) >= lengths[std::uint64_t(place) >> 32])
            fields.fail(fmt::format("direct map: vector {} should be at {}, which does not exist",
                                    row, place));
    }
}

}  // namespace

RowsOnce::RowsOnce(const IndexFields& fields, std::size_t rows) : fields_(fields) {
    if (rows > fields.left() / sizeof(std::int64_t))
        fields.fail(fmt::format("{} ids, but only {} bytes are left", rows, fields.left()));
    seen_.resize(rows);
}

void RowsOnce::see(std::int64_t row) {
    if (row < 0 || std::uint64_t(row) >= seen_.size())
        fields_.fail(fmt::format("ids: expected 0 to {}, found {}", seen_.size() - 1, row));
    if (seen_[std::size_t(row)]) fields_.fail(fmt::format("ids: {} is there twice", row));
    seen_[std::size_t(row)] = true;
}

StoredArray<std::int64_t> take_direct_map(IndexFields& fields, const ListSizes& sizes) {
    const auto type = fields.take<std::uint8_t>();
    if (type > 1) fields.fail(fmt::format("direct map: expected type 0 or 1, found {}", type));
    return fields.take_array<std::int64_t>("direct map", type == 0 ? 0 : sizes.rows);
}

void check_inverted_lists(IndexFields& fields, const ListSizes& sizes, std::size_t code_size,
                          bool floats, const StoredArray<std::int64_t>& direct_map) {
    const std::string kind = fields.take_tag();
    if (kind != "ilar")
        fields.fail(fmt::format("lists: expected 'ilar', found {}", display_name(kind)));
    fields.take_number("lists", sizes.lists, sizes.lists);
    fields.take_number("bytes of a code", code_size, code_size);
    const std::vector<std::uint64_t> lengths = take_lengths(fields, sizes);
    check_total(fields, lengths, sizes.rows);
    check_direct_map(fields, direct_map, lengths);
    RowsOnce rows(fields, sizes.rows);
    for (const std::uint64_t length : lengths) {
        if (length > fields.left() / code_size)
            fields.fail(fmt::format("a list of {} codes of {} bytes, but only {} bytes are left",
                                    length, code_size, fields.left()));
        const std::span<const std::byte> codes = fields.take_bytes(length * code_size);
        if (floats) fields.check_finite("vectors", StoredArray<float>(codes));
        const auto ids = fields.take_numbers<std::int64_t>("ids of a list", length);
        for (std::size_t i = 0; i < ids.size(); ++i) rows.see(ids[i]);
    }
}

}  // namespace cait
