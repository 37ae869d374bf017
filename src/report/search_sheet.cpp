#include "report/search_sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ranges>

#include "evaluate/index/indexed_images.h"
#include "image/draw/contact_sheet.h"

namespace cait {

namespace {

// From green for the finest level over yellow to orange for the coarsest.
Colour level_colour(const EmbeddedSet& known, const std::string& level) {
    constexpr Colour kNone{200, 40, 40}, kFine{24, 152, 64}, kCoarse{240, 160, 16};
    const auto found = std::ranges::find(known.levels, level, &LabelLevel::name);
    if (found == known.levels.end()) return kNone;
    const double steps = double(std::max<std::size_t>(known.levels.size() - 1, 1));
    const double fine =
        known.levels.size() == 1 ? 1.0 : double(found - known.levels.begin()) / steps;
    Colour colour{};
    for (std::size_t c = 0; c < 3; ++c)
        colour[c] = std::uint8_t(fine * kFine[c] + (1 - fine) * kCoarse[c] + 0.5);
    return colour;
}

std::string short_name(const EmbeddedSet& set, std::size_t row) {
    if (!set.levels.empty()) {
        const LabelLevel& finest = set.levels.back();
        return finest.classes.names[std::size_t(finest.labels[row])];
    }
    return std::filesystem::path(set.names[row]).filename().string();
}

}  // namespace

std::string agreeing_level(const EmbeddedSet& queries, std::size_t query, const EmbeddedSet& known,
                           std::size_t row) {
    for (const LabelLevel& level : std::views::reverse(known.levels)) {
        const auto other = std::ranges::find(queries.levels, level.name, &LabelLevel::name);
        if (other != queries.levels.end() &&
            other->classes.names[std::size_t(other->labels[query])] ==
                level.classes.names[std::size_t(level.labels[row])])
            return level.name;
    }
    return "";
}

Image draw_search_sheet(const SearchSheet& sheet, const EmbeddedSet& queries,
                        const EmbeddedSet& known, const FoundNeighbours& answers) {
    const IndexedImages images(known);
    std::vector<SheetTile> tiles;
    for (std::size_t q = 0; q < answers.size(); ++q) {
        tiles.push_back({sheet.query_images ? sheet.query_images->image(queries.indices[q])
                                            : images.read(sheet.query_rows[q]),
                         "query\n" + short_name(queries, q)});
        for (std::size_t i = 0; i < sheet.k; ++i) {
            if (i >= answers[q].size()) {  // an index that is not exact may find fewer
                tiles.push_back({Image::blank(1, 1, 3), ""});
                continue;
            }
            const Neighbour& one = answers[q][i];
            const std::string level = agreeing_level(queries, q, known, one.row);
            SheetTile tile{images.read(one.row), fmt::format("{:.3f}{}\n{}", one.similarity,
                                                             level.empty() ? "" : " " + level,
                                                             short_name(known, one.row))};
            if (!queries.levels.empty() && !known.levels.empty())
                tile.frame = level_colour(known, level);
            tiles.push_back(std::move(tile));
        }
    }
    SheetStyle style;
    style.columns = std::int64_t(sheet.k) + 1;
    style.side = sheet.side;
    style.title = fmt::format("{}: nearest of {} images", known.maker.model, known.names.size());
    return contact_sheet(tiles, style);
}

}  // namespace cait
