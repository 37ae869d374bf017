// When a result is read for the last time: what an executor may free, and what memory a graph
// needs.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace cait {

struct Liveness {
    // By node: the last node that reads it, itself where none does. An output is kept to the end:
    // nodes.size().
    std::vector<std::size_t> last_use;
    // By node: the results that nobody needs once it has run. Outputs are in no list.
    std::vector<std::vector<std::size_t>> freed_after;
};

enum class ViewUse {
    own,       // a view holds its memory by itself, as a reference-counted tensor does
    of_source  // reading a view is reading the memory that it looks at
};

Liveness liveness(const Graph& graph, ViewUse views = ViewUse::own);

// Reshape, permute, slice and expand: the same memory in another arrangement.
bool is_view(const Op& op);

}  // namespace cait
