// The image operations that augmentation policies choose from, with one number each, and the memory
// they share.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/philox.h"
#include "image/image.h"
#include "image/ops/affine.h"
#include "image/ops/blur.h"
#include "image/ops/crop.h"

namespace cait {

enum class Operation {
    identity,
    autocontrast,
    equalize,
    invert,
    posterize,     // bits that are kept
    solarize,      // threshold
    solarize_add,  // what is added to values below 128
    colour,        // factors: 1 changes nothing
    contrast,
    brightness,
    sharpness,
    rotate,  // degrees, counter-clockwise
    shear_x,
    shear_y,
    translate_x,  // pixels, to the left or upwards when positive
    translate_y,
    translate_x_share,  // of the width or height
    translate_y_share,
    blur,  // std in pixels
    grey,
};

std::string_view operation_name(Operation operation);

struct OperationCall {
    Operation operation = Operation::identity;
    double argument = 0;
    bool operator==(const OperationCall&) const = default;
};

// What a policy has drawn for one image, in the order of application.
struct OperationList {
    static constexpr std::size_t kMost = 16;
    std::array<OperationCall, kMost> calls{};
    std::size_t count = 0;

    void add(const OperationCall& call) { calls[count++] = call; }
    const OperationCall* begin() const { return calls.data(); }
    const OperationCall* end() const { return calls.data() + count; }
    bool operator==(const OperationList&) const = default;
};

struct OperationWorkspace {
    AffineWorkspace affine;
    BlurWorkspace blur;
    std::vector<std::uint8_t> rows;
};

// How geometric operations look up pixels and what they put where there are none. Without an
// interpolation, bilinear or bicubic is drawn again for each operation, as timm's "random" does.
struct OperationStyle {
    std::optional<Interpolation> interpolation = Interpolation::bicubic;
    Colour outside{128, 128, 128};
};

bool is_geometric(Operation operation);

// Where a geometric operation takes its pixels from in an image of that size (to the left or
// upwards for positive translations, as timm has it); other operations leave them where they are.
AffineMap affine_of(const OperationCall& call, std::int64_t width, std::int64_t height);

// `random` is only asked for the interpolation.
void apply(const OperationCall& call, const OperationStyle& style, RandomStream& random,
           Image& image, OperationWorkspace& workspace);

}  // namespace cait
