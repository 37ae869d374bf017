#include "evaluate/index/index_graph.h"

#include <fmt/format.h>

namespace cait {

namespace {

constexpr std::int32_t kMostVisited = 1 << 16;  // efSearch, which is memory and time of a search

// Vector `row` has levels[row] levels; its links of level l stand in `neighbours` from
// offsets[row] + widths[l] to offsets[row] + widths[l + 1], the unused ones -1.
struct Links {
    StoredArray<std::int32_t> widths;  // of all levels below one
    StoredArray<std::int32_t> levels;
    StoredArray<std::uint64_t> offsets;
    StoredArray<std::int32_t> neighbours;
};

void check_widths(const IndexFields& fields, const StoredArray<std::int32_t>& widths) {
    if (widths.size() < 2 || widths[0] != 0) fields.fail("links: their levels have no width");
    for (std::size_t level = 1; level < widths.size(); ++level)
        if (widths[level] < widths[level - 1])
            fields.fail(fmt::format("links: level {} has a negative width", level - 1));
}

void check_places(const IndexFields& fields, const Links& links, std::size_t rows) {
    std::uint64_t end = 0;
    for (std::size_t row = 0; row < rows; ++row) {
        const std::int32_t levels = links.levels[row];
        if (levels < 1 || std::size_t(levels) >= links.widths.size())
            fields.fail(fmt::format("levels of vector {}: expected 1 to {}, found {}", row,
                                    links.widths.size() - 1, levels));
        if (links.offsets[row] != end)
            fields.fail(fmt::format("links of vector {}: expected them at {}, found {}", row, end,
                                    links.offsets[row]));
        end += std::uint64_t(links.widths[std::size_t(levels)]);
    }
    if (links.offsets[rows] != end || links.neighbours.size() != end)
        fields.fail(fmt::format("links: expected {}, found {} and an end at {}", end,
                                links.neighbours.size(), links.offsets[rows]));
}

// A link of a level leads to a vector that has this level, too.
void check_neighbours(const IndexFields& fields, const Links& links, std::size_t rows) {
    for (std::size_t row = 0; row < rows; ++row)
        for (std::int32_t level = 0; level < links.levels[row]; ++level) {
            const auto first = std::uint64_t(links.widths[std::size_t(level)]),
                       last = std::uint64_t(links.widths[std::size_t(level) + 1]);
            for (std::uint64_t i = first; i < last; ++i) {
                const std::int32_t to = links.neighbours[links.offsets[row] + i];
                if (to == -1) continue;
                if (to < 0 || std::size_t(to) >= rows || links.levels[std::size_t(to)] <= level)
                    fields.fail(
                        fmt::format("vector {}: its link at level {} leads to {}, which is "
                                    "not there",
                                    row, level, to));
            }
        }
}

}  // namespace

void check_links(IndexFields& fields, std::size_t rows) {
    const auto chances = fields.take_array<double>("chances of levels");
    Links links;
    links.widths = fields.take_array<std::int32_t>("widths of levels", chances.size() + 1);
    links.levels = fields.take_array<std::int32_t>("levels", rows);
    links.offsets = fields.take_array<std::uint64_t>("offsets", rows + 1);
    links.neighbours = fields.take_array<std::int32_t>("links");
    check_widths(fields, links.widths);
    check_places(fields, links, rows);
    check_neighbours(fields, links, rows);

    const auto entry = fields.take<std::int32_t>();
    const auto top = fields.take<std::int32_t>();  // the search starts there and goes down to 0
    if (entry < 0 || std::size_t(entry) >= rows)
        fields.fail(fmt::format("entry point: expected 0 to {}, found {}", rows - 1, entry));
    if (top < 0 || top >= links.levels[std::size_t(entry)])
        fields.fail(fmt::format("highest level: expected 0 to {}, found {}",
                                links.levels[std::size_t(entry)] - 1, top));
    fields.take<std::int32_t>();  // efConstruction: of building
    const auto visited = fields.take<std::int32_t>();
    if (visited < 1 || visited > kMostVisited)
        fields.fail(fmt::format("efSearch: expected 1 to {}, found {}", kMostVisited, visited));
    const auto beam = fields.take<std::int32_t>();
    if (beam != 1) fields.fail(fmt::format("upper_beam: expected 1, found {}", beam));
}

}  // namespace cait
