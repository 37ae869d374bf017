#include "data/augment/operation.h"

#include <array>
#include <cmath>

#include "data/random.h"
#include "image/ops/enhance.h"
#include "image/ops/point_ops.h"

namespace cait {

namespace {

constexpr std::array<std::string_view, 20> kOperationNames{
    "identity",          "autocontrast",      "equalize",     "invert",
    "posterize",         "solarize",          "solarize_add", "colour",
    "contrast",          "brightness",        "sharpness",    "rotate",
    "shear_x",           "shear_y",           "translate_x",  "translate_y",
    "translate_x_share", "translate_y_share", "blur",         "grey"};
static_assert(kOperationNames.size() == std::size_t(Operation::grey) + 1);

}  // namespace

std::string_view operation_name(Operation operation) {
    return kOperationNames[std::size_t(operation)];
}

bool is_geometric(Operation operation) {
    return operation >= Operation::rotate && operation <= Operation::translate_y_share;
}

AffineMap affine_of(const OperationCall& call, std::int64_t width, std::int64_t height) {
    const double value = call.argument;
    switch (call.operation) {
        case Operation::rotate: return rotation(value, width, height);
        case Operation::shear_x: return {.xy = value};
        case Operation::shear_y: return {.yx = value};
        case Operation::translate_x: return {.x0 = value};
        case Operation::translate_y: return {.y0 = value};
        case Operation::translate_x_share: return {.x0 = value * double(width)};
        case Operation::translate_y_share: return {.y0 = value * double(height)};
        default: return {};
    }
}

void apply(const OperationCall& call, const OperationStyle& style, RandomStream& random,
           Image& image, OperationWorkspace& workspace) {
    if (is_geometric(call.operation)) {
        const Interpolation drawn = style.interpolation   ? *style.interpolation
                                    : chance(random, 0.5) ? Interpolation::bilinear
                                                          : Interpolation::bicubic;
        const bool turns = call.operation == Operation::rotate;
        if (turns && std::fmod(call.argument, 360.0) == 0) return;
        return transform(image, affine_of(call, image.width, image.height), drawn, style.outside,
                         workspace.affine);
    }
    const double value = call.argument;
    switch (call.operation) {
        case Operation::autocontrast: return autocontrast(image);
        case Operation::equalize: return equalize(image);
        case Operation::invert: return invert(image);
        case Operation::posterize: return posterize(image, int(value));
        case Operation::solarize: return solarize(image, value);
        case Operation::solarize_add: return solarize_add(image, int(value));
        case Operation::colour: return adjust_colour(image, value);
        case Operation::contrast: return adjust_contrast(image, value);
        case Operation::brightness: return adjust_brightness(image, value);
        case Operation::sharpness: return adjust_sharpness(image, value, workspace.rows);
        case Operation::blur: return gaussian_blur(image, value, workspace.blur);
        case Operation::grey: return make_grey(image);
        default: return;
    }
}

}  // namespace cait
