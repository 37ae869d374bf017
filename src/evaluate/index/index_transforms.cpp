#include "evaluate/index/index_transforms.h"

#include <fmt/format.h>

#include "base/display_name.h"

namespace cait {

namespace {

constexpr std::int32_t kMostTransforms = 16;
constexpr const char* kTransforms =
    "rrot, LTra, Pcam, Viqt (matrices), VNrm, VCnt (lengths, means), RmDT (components)";

// Sizes follow the numbers that have to fit them.
struct Sizes {
    std::size_t in = 0;
    std::size_t out = 0;
};

Sizes take_sizes(IndexFields& fields) {
    const auto in = fields.take<std::int32_t>(), out = fields.take<std::int32_t>();
    if (!fields.take_flag("trained transform")) fields.fail("a transform has not been trained");
    if (in < 1 || out < 1) fields.fail(fmt::format("transform: found sizes {} and {}", in, out));
    return {std::size_t(in), std::size_t(out)};
}

void check_count(const IndexFields& fields, const char* what, std::size_t expected,
                 std::size_t found) {
    if (found != expected)
        fields.fail(
            fmt::format("transform: {}: expected {} numbers, found {}", what, expected, found));
}

StoredArray<float> take_finite(IndexFields& fields, const char* what) {
    const auto values = fields.take_array<float>(what);
    fields.check_finite(what, values);
    return values;
}

// What PCA remembers of its training; a search does not use it.
void take_pca(IndexFields& fields) {
    fields.take<float>();  // the power of the eigenvalues
    fields.take<float>();  // and what is added to them
    fields.take_flag("random_rotation");
    fields.take<std::int32_t>();
    for (const char* what : {"mean", "eigenvalues", "components"}) take_finite(fields, what);
}

Sizes check_linear(IndexFields& fields, const std::string& kind) {
    if (kind == "Pcam") take_pca(fields);
    if (kind == "Viqm") fields.take_bytes(2 * sizeof(std::int32_t));  // of training
    const bool biased = fields.take_flag("have_bias");
    const auto matrix = take_finite(fields, "matrix"), bias = take_finite(fields, "bias");
    const Sizes sizes = take_sizes(fields);
    check_count(fields, "matrix", sizes.in * sizes.out, matrix.size());
    if (biased) check_count(fields, "bias", sizes.out, bias.size());
    return sizes;
}

bool is_linear(const std::string& kind) {
    return kind == "rrot" || kind == "LTra" || kind == "Pcam" || kind == "Viqm";
}

// A mean, the matrix that was trained, and the one that is applied.
Sizes check_itq(IndexFields& fields) {
    const auto mean = take_finite(fields, "mean");
    fields.take_flag("do_pca");
    if (fields.take_tag() != "Viqm") fields.fail("transform: expected 'Viqm' within 'Viqt'");
    check_linear(fields, "Viqm");
    const std::string kind = fields.take_tag();
    if (!is_linear(kind)) fields.fail("transform: expected a matrix within 'Viqt'");
    const Sizes applied = check_linear(fields, kind);
    const Sizes sizes = take_sizes(fields);
    check_count(fields, "mean", sizes.in, mean.size());
    if (applied.in != sizes.in || applied.out != sizes.out)
        fields.fail("transform: the sizes within 'Viqt' are others");
    return sizes;
}

Sizes check_remapping(IndexFields& fields) {
    const auto map = fields.take_array<std::int32_t>("map of components");
    const Sizes sizes = take_sizes(fields);
    check_count(fields, "map of components", sizes.out, map.size());
    if (sizes.in > sizes.out)
        fields.fail(fmt::format("transform: {} of {} components would be dropped",
                                sizes.in - sizes.out, sizes.in));
    for (std::size_t i = 0; i < map.size(); ++i)
        if (map[i] < -1 || (map[i] >= 0 && std::size_t(map[i]) >= sizes.in))
            fields.fail(fmt::format("map of components: expected -1 to {}, found {}", sizes.in - 1,
                                    map[i]));
    return sizes;
}

Sizes check_plain(IndexFields& fields, const std::string& kind) {
    const bool centring = kind == "VCnt";
    const StoredArray<float> mean = centring ? take_finite(fields, "mean") : StoredArray<float>();
    if (!centring && fields.take<float>() != 2) fields.fail("transform: expected norm 2");
    const Sizes sizes = take_sizes(fields);
    if (centring) check_count(fields, "mean", sizes.in, mean.size());
    check_count(fields, "output", sizes.in, sizes.out);
    return sizes;
}

Sizes check_transform(IndexFields& fields) {
    const std::string kind = fields.take_tag();
    if (is_linear(kind)) return check_linear(fields, kind);
    if (kind == "Viqt") return check_itq(fields);
    if (kind == "RmDT") return check_remapping(fields);
    if (kind == "VNrm" || kind == "VCnt") return check_plain(fields, kind);
    fields.fail(fmt::format("its transform {} is not known; known are {}", display_name(kind),
                            kTransforms));
}

}  // namespace

std::size_t check_transforms(IndexFields& fields, std::size_t columns) {
    const auto count = fields.take<std::int32_t>();
    if (count < 1 || count > kMostTransforms)
        fields.fail(fmt::format("transforms: expected 1 to {}, found {}", kMostTransforms, count));
    for (std::int32_t i = 0; i < count; ++i) {
        const Sizes sizes = check_transform(fields);
        if (sizes.in != columns)
            fields.fail(
                fmt::format("transform {}: expected {} numbers, found {}", i, columns, sizes.in));
        columns = sizes.out;
    }
    return columns;
}

}  // namespace cait
