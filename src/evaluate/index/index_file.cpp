#include "evaluate/index/index_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "base/display_name.h"
#include "cait/error.h"
#include "evaluate/index/index_fields.h"
#include "evaluate/index/index_graph.h"
#include "evaluate/index/index_lists.h"
#include "evaluate/index/index_quantizers.h"
#include "evaluate/index/index_transforms.h"

namespace cait {

const char* const kIndexKinds =
    "Flat, SQ, PQ, HNSW with Flat or SQ, IVF with Flat, SQ or PQ, these behind PCA, OPQ and other "
    "transforms, with RFlat or Refine, and in an IDMap";

namespace {

constexpr int kInnerProduct = 0;
constexpr int kL2 = 1;
constexpr int kMostNested = 4;
// More candidates than this for each answer are memory, not quality.
constexpr float kMostCandidates = 1000;

// Where an index stands in a file says what it may be.
enum class Place {
    outer,      // anything
    refined,    // the candidates of a Refine: anything but another Refine
    quantizer,  // chooses lists: must give its vectors back
    codes,      // holds vectors of a Refine or of a graph
};

struct Header {
    std::string kind;
    std::size_t rows = 0;
    std::size_t columns = 0;
    int metric = kInnerProduct;
};

class IndexChecker {
public:
    IndexChecker(std::span<const std::byte> bytes, const std::string& name)
        : fields_(bytes, name, "an index that FAISS reads") {}

    IndexFacts check() {
        const Header outer = index(Place::outer, 0);
        if (outer.metric != kInnerProduct) fields_.fail("it is not by inner product");
        if (fields_.left() > 0)
            fields_.fail(fmt::format("bytes after its end: {}", fields_.left()));
        return {outer.rows, outer.columns, extra_memory_};
    }

private:
    Header index(Place place, int depth) {
        Header found = header(place);
        const std::string& kind = found.kind;
        if (depth > kMostNested) fields_.fail("its indexes are nested too deeply");
        if (kind == "IxFI" || kind == "IxF2")
            check_vectors(found);
        else if (kind == "IxSQ")
            check_scalar_index(fields_, found.rows, found.columns);
        else if (kind == "IxPq")
            check_product_index(fields_, found.rows, found.columns);
        else if (kind == "IHNf" || kind == "IHNs")
            check_graph(found, depth);
        else if (kind == "IwFl" || kind == "IwSq" || kind == "IwPQ")
            check_lists(found, depth);
        else if (kind == "IxPT")
            check_transformed(found, place, depth);
        else if (kind == "IxMp" || kind == "IxM2")
            check_mapped(found, place, depth);
        else
            check_refined(found, depth);
        return found;
    }

    Header header(Place place) {
        Header found{.kind = fields_.take_tag()};
        check_kind(found.kind, place);
        const auto columns = fields_.take<std::int32_t>();
        const auto rows = fields_.take<std::int64_t>();
        fields_.take<std::int64_t>();  // two numbers that FAISS no longer uses
        fields_.take<std::int64_t>();
        const bool trained = fields_.take_flag("trained");
        found.metric = fields_.take<std::int32_t>();
        if (columns < 1 || rows < 1)
            fields_.fail(fmt::format("its sizes are {} vectors of {} numbers", rows, columns));
        found.rows = std::size_t(rows);
        found.columns = std::size_t(columns);
        if (!trained) fields_.fail("it has not been trained");
        if (found.metric != kInnerProduct && found.metric != kL2)
            fields_.fail("it is not by inner product");
        return found;
    }

    void check_kind(const std::string& kind, Place place) const {
        const auto one_of = [&](std::initializer_list<std::string_view> kinds) {
            return std::ranges::find(kinds, kind) != kinds.end();
        };
        const bool codes = one_of({"IxFI", "IxF2", "IxSQ", "IxPq"});
        const bool graph = one_of({"IHNf", "IHNs"});
        const bool rest = one_of({"IwFl", "IwSq", "IwPQ", "IxPT", "IxMp", "IxM2"});
        const bool refine = kind == "IxRF";
        if (!codes && !graph && !rest && !refine)
            fields_.fail(fmt::format("its kind {} is not known; known are {}", display_name(kind),
                                     kIndexKinds));
        const bool fits = place == Place::outer || codes || (place == Place::quantizer && graph) ||
                          (place == Place::refined && !refine);
        if (!fits) fields_.fail(fmt::format("{} stands where it cannot", display_name(kind)));
    }

    void check_same(const char* what, const Header& outer, const Header& inner) const {
        if (inner.rows != outer.rows || inner.columns != outer.columns ||
            inner.metric != outer.metric)
            fields_.fail(fmt::format(
                "{}: expected {} vectors of {} numbers by metric {}, found {} of {} by metric {}",
                what, outer.rows, outer.columns, outer.metric, inner.rows, inner.columns,
                inner.metric));
    }

    void check_vectors(const Header& flat) {
        if (flat.rows > fields_.left() / sizeof(float) / flat.columns)
            fields_.fail(fmt::format("{} vectors of {} numbers, but only {} bytes are left",
                                     flat.rows, flat.columns, fields_.left()));
        const auto values = fields_.take_array<float>("vectors", flat.rows * flat.columns);
        fields_.check_finite("vectors", values);
        if (flat.metric != (flat.kind == "IxFI" ? kInnerProduct : kL2))
            fields_.fail(fmt::format("{}: its metric is another", flat.kind));
    }

    void check_graph(const Header& outer, int depth) {
        check_links(fields_, outer.rows);
        const Header storage = index(Place::codes, depth + 1);
        const bool scalar = storage.kind == "IxSQ";
        if (scalar != (outer.kind == "IHNs") || storage.kind == "IxPq")
            fields_.fail(fmt::format("{}: its vectors are of kind {}", outer.kind, storage.kind));
        check_same("vectors of the graph", outer, storage);
    }

    void check_lists(const Header& outer, int depth) {
        const ListSizes sizes{
            .rows = outer.rows,
            .lists = fields_.take_number("lists", 1, fields_.left()),
        };
        fields_.take_number("nprobe", 1, INT32_MAX);
        const Header quantizer = index(Place::quantizer, depth + 1);
        if (quantizer.rows != sizes.lists || quantizer.columns != outer.columns)
            fields_.fail(fmt::format("quantizer: expected {} vectors of {} numbers, found {} of {}",
                                     sizes.lists, outer.columns, quantizer.rows,
                                     quantizer.columns));
        const StoredArray<std::int64_t> map = take_direct_map(fields_, sizes);
        std::size_t code_size = outer.columns * sizeof(float);
        if (outer.kind == "IwSq") {
            code_size = check_scalar_quantizer(fields_, outer.columns);
            fields_.take_number("bytes of a code", code_size, code_size);
            fields_.take_flag("by_residual");
        } else if (outer.kind == "IwPQ") {
            fields_.take_flag("by_residual");
            const auto told = fields_.take<std::uint64_t>();
            code_size = check_product_quantizer(fields_, outer.columns);
            if (told != code_size)
                fields_.fail(
                    fmt::format("bytes of a code: expected {}, found {}", code_size, told));
        }
        check_inverted_lists(fields_, sizes, code_size, outer.kind == "IwFl", map);
        extra_memory_ += sizes.lists * 64 + outer.rows * sizeof(std::int64_t);
    }

    void check_transformed(const Header& outer, Place place, int depth) {
        const std::size_t columns = check_transforms(fields_, outer.columns);
        Header inner = index(place, depth + 1);
        if (inner.columns != columns)
            fields_.fail(fmt::format("transforms: expected an index of {} numbers, found {}",
                                     columns, inner.columns));
        inner.columns = outer.columns;
        check_same("transformed vectors", outer, inner);
    }

    void check_mapped(const Header& outer, Place place, int depth) {
        check_same("mapped vectors", outer, index(place, depth + 1));
        RowsOnce rows(fields_, outer.rows);
        const auto ids = fields_.take_array<std::int64_t>("ids", outer.rows);
        for (std::size_t i = 0; i < ids.size(); ++i) rows.see(ids[i]);
        extra_memory_ += outer.rows * 64;  // the map back
    }

    void check_refined(const Header& outer, int depth) {
        check_same("candidates", outer, index(Place::refined, depth + 1));
        check_same("refined vectors", outer, index(Place::codes, depth + 1));
        const auto factor = fields_.take<float>();
        if (!(factor >= 1 && factor <= kMostCandidates))
            fields_.fail(fmt::format("candidates for each answer: expected 1 to {}, found {}",
                                     kMostCandidates, factor));
    }

    IndexFields fields_;
    std::uint64_t extra_memory_ = 0;
};

}  // namespace

IndexFacts check_index(std::span<const std::byte> bytes, const std::string& name) {
    return IndexChecker(bytes, name).check();
}

std::uint32_t checked_row(std::int64_t row, std::size_t rows, const std::string& name) {
    if (row < 0 || std::uint64_t(row) >= rows || row > std::int64_t{UINT32_MAX})
        throw Error(
            fmt::format("{}: expected rows 0 to {} in an answer, found {}", name, rows - 1, row));
    return std::uint32_t(row);
}

}  // namespace cait
