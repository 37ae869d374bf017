#include "graph/id_limits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cait/error.h"

namespace cait {

namespace {

// "[3, 17]": where element `at` of an input stands.
std::string place_text(const Shape& shape, std::int64_t at) {
    std::vector<std::int64_t> place(shape.rank());
    for (std::size_t axis = place.size(); axis-- > 1;) {
        place[axis] = at % shape[std::int64_t(axis)];
        at /= shape[std::int64_t(axis)];
    }
    place[0] = at;  // of the batch, which has no end here
    return fmt::format("[{}]", fmt::join(place, ", "));
}

}  // namespace

std::vector<std::int64_t> id_limits(const Graph& graph) {
    std::vector<std::int64_t> by_node(graph.nodes.size(), 0), limits;
    for (const Node& node : graph.nodes)
        if (std::holds_alternative<op::Embedding>(node.op)) {
            const std::int64_t rows = graph.node(node.inputs[1]).shape[0];
            std::int64_t& limit = by_node[node.inputs[0]];
            limit = limit == 0 ? rows : std::min(limit, rows);
        }
    for (const Node& node : graph.nodes)
        if (std::holds_alternative<op::Input>(node.op)) limits.push_back(by_node[node.id]);
    return limits;
}

void check_ids(const op::Input& input, std::span<const std::int64_t> ids, std::int64_t limit) {
    if (limit == 0) return;
    const auto bad =
        std::ranges::find_if(ids, [&](std::int64_t id) { return id < 0 || id >= limit; });
    if (bad != ids.end())
        throw Error(fmt::format("[input] {}{}: expected an id of 0…{}, found {}", input.name,
                                place_text(input.shape, bad - ids.begin()), limit - 1, *bad));
}

}  // namespace cait
