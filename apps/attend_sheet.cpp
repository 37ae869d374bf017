#include "attend_sheet.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "image/draw/draw.h"
#include "image/draw/heat_map.h"

namespace cait::app {

namespace {

Image drawn(const Seen& seen, const Box& own, const AttentionMap& map, const std::string& style) {
    const Box where{own.left * seen.scale_x, own.top * seen.scale_y, own.right * seen.scale_x,
                    own.bottom * seen.scale_y};
    const HeatMap heat{map.width, map.height, map.values};
    if (style == "saliency") return saliency(seen.photo, heat, where);
    return overlay(seen.photo, heat, where, style == "map" ? 1 : 0.6);
}

// A line for each class above 10 %.
std::string answers(const Look& look) {
    std::string text;
    for (const Answer& one : look.classes)
        text += fmt::format("\n{:.1f} % {}", 100 * one.probability, one.name);
    return text;
}

std::string photo_caption(const Seen& seen, const std::vector<Looker>& models) {
    std::string text = std::filesystem::path(seen.name).filename().string();
    const bool one = models.size() == 1;
    if (one) text += answers(seen.looks[0]);
    const bool right = one && !seen.looks[0].classes.empty() && seen.label &&
                       *seen.label == seen.looks[0].classes[0].name;
    if (seen.label && !right) text += "\nis: " + *seen.label;
    return text;
}

// Layer and head below each other; of a model that looks for each class by itself the class.
std::string map_caption(const LookMap& map, std::int64_t head, bool with_layer) {
    std::string text = head < 0 ? "mean of heads" : fmt::format("head {}", head);
    if (!map.layer) return map.name();
    if (with_layer) text = fmt::format("layer {}\n{}", *map.layer, text);
    return map.of ? map.name() + "\n" + text : text;
}

}  // namespace

std::int64_t columns_of(const Seen& seen, const AttendArguments& arguments) {
    std::size_t maps = 0, heads = 0;
    for (const Look& look : seen.looks) {
        maps += look.maps.size();
        for (const LookMap& map : look.maps) heads = std::max(heads, map.heads.size());
    }
    return std::int64_t(arguments.heads ? heads + 2 : maps + 1);
}

std::vector<SheetTile> tiles_of(const Seen& seen, const std::vector<Looker>& models,
                                const AttendArguments& arguments) {
    const auto columns = std::size_t(columns_of(seen, arguments));
    const SheetTile photo{seen.photo, photo_caption(seen, models)};
    std::vector<SheetTile> tiles;
    if (!arguments.heads) tiles.push_back(photo);
    for (std::size_t m = 0; m < models.size(); ++m) {
        const Look& look = seen.looks[m];
        for (std::size_t i = 0; i < look.maps.size(); ++i) {
            const LookMap& map = look.maps[i];
            const auto add = [&](const AttentionMap& values, std::int64_t head) {
                // The model's name and answers stand once, where there are several models.
                const bool first = models.size() > 1 && head < 0 && (i == 0 || arguments.heads);
                tiles.push_back({drawn(seen, look.seen, values, arguments.style),
                                 (first ? models[m].name() + "\n" : "") +
                                     map_caption(map, head, !map.of || look.maps.size() > 3) +
                                     (first ? answers(look) : "")});
            };
            if (arguments.heads) tiles.push_back(photo);
            add(map.mean, -1);
            if (!arguments.heads) continue;
            for (std::size_t head = 0; head < map.heads.size(); ++head)
                add(map.heads[head], std::int64_t(head));
            // Another model may have more heads.
            while (tiles.size() % columns != 0)
                tiles.push_back({filled(seen.photo.width, seen.photo.height, {255, 255, 255}), ""});
        }
    }
    return tiles;
}

SheetStyle sheet_style(const AttendArguments& arguments, const std::vector<Looker>& models,
                       std::int64_t side, std::int64_t photographs, std::int64_t columns) {
    SheetStyle style;
    // Where a photograph has a row of two, three of them stand beside each other.
    style.columns = columns > 2 ? columns : std::min<std::int64_t>(6, columns * photographs);
    style.side = side;
    style.title = arguments.map == "rollout" ? "attention rollout" : "class attention";
    if (models.size() == 1) style.title = models[0].name() + ": " + style.title;
    return style;
}

}  // namespace cait::app
