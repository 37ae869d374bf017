#include "models/attention_map.h"

#include <fmt/format.h>

#include "cait/error.h"
#include "cait/model.h"

namespace cait {

bool has_map_per_class(const Model& model) {
    const std::map<std::string, std::string> settings = model.settings();
    const auto multi = settings.find("multi");
    return multi != settings.end() && multi->second == "true";
}

AttentionMap patch_attention(std::span<const float> values, const Shape& tap_shape, Grid grid,
                             std::int64_t head, std::int64_t query) {
    const std::int64_t heads = tap_shape[1], keys = tap_shape[3], patches = grid.count();
    if (query < 0 || query >= tap_shape[2])
        throw Error(
            fmt::format("[attention] expected a query below {}, found {}", tap_shape[2], query));
    if (keys < patches)
        throw Error(fmt::format("[attention] expected the {} patches among the keys, found {}",
                                patches, keys));
    AttentionMap map{grid.width, grid.height, std::vector<float>(std::size_t(patches))};
    const std::size_t per_head = values.size() / std::size_t(heads);
    const std::int64_t prefix = keys - patches;  // class and distillation tokens come first
    const std::int64_t first = head < 0 ? 0 : head, last = head < 0 ? heads : head + 1;
    for (std::int64_t h = first; h < last; ++h)
        for (std::int64_t k = prefix; k < keys; ++k)
            map.values[std::size_t(k - prefix)] +=
                values[std::size_t(h) * per_head + std::size_t(query * keys + k)] /
                float(last - first);
    return map;
}

}  // namespace cait
