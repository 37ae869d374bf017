// What models see in a photograph, as the tiles of a contact sheet.
#pragma once

#include "analysis/attention_look.h"
#include "image/draw/contact_sheet.h"

namespace cait {

// What was seen in one photograph.
struct Seen {
    std::string name;                  // of the photograph
    std::optional<std::string> label;  // as the models have it, where it is known
    Image photo;                       // at the size in which it is shown
    double scale_x = 1, scale_y = 1;   // that size over its own
    std::vector<Look> looks;           // of each model
};

// The photograph, and beside it what each model looks at: one row of columns_of() tiles, and with
// --heads a row for every map.
std::vector<SheetTile> tiles_of(const Seen& seen, const std::vector<Looker>& models,
                                const AttentionRequest& request);
std::int64_t columns_of(const Seen& seen, const AttentionRequest& request);

// For the tiles of this many photographs.
SheetStyle sheet_style(const AttentionRequest& request, const std::vector<Looker>& models,
                       std::int64_t side, std::int64_t photographs, std::int64_t columns);

}  // namespace cait
