#include "data/augment/operation.h"

#include <array>

#include "data/augment/random.h"
#include "image/ops/enhance.h"
#include "image/ops/point_ops.h"

namespace cait {

namespace {

constexpr std::array<std::string_view, 20> kNames{
    "identity",          "autocontrast",      "equalize",     "invert",
    "posterize",         "solarize",          "solarize_add", "colour",
    "contrast",          "brightness",        "sharpness",    "rotate",
    "shear_x",           "shear_y",           "translate_x",  "translate_y",
    "translate_x_share", "translate_y_share", "blur",         "grey"};
static_assert(kNames.size() == std::size_t(Operation::grey) + 1);

void apply_geometric(const OperationCall& call, Interpolation interpolation, const Colour& outside,
                     Image& image, AffineWorkspace& workspace) {
    const double value = call.argument;
    switch (call.operation) {
        case Operation::rotate: return rotate(image, value, interpolation, outside, workspace);
        case Operation::shear_x: return shear_x(image, value, interpolation, outside, workspace);
        case Operation::shear_y: return shear_y(image, value, interpolation, outside, workspace);
        case Operation::translate_x:
            return translate_x(image, value, interpolation, outside, workspace);
        case Operation::translate_y:
            return translate_y(image, value, interpolation, outside, workspace);
        case Operation::translate_x_share:
            return translate_x(image, value * double(image.width), interpolation, outside,
                               workspace);
        case Operation::translate_y_share:
            return translate_y(image, value * double(image.height), interpolation, outside,
                               workspace);
        default: return;
    }
}

}  // namespace

std::string_view operation_name(Operation operation) { return kNames[std::size_t(operation)]; }

bool is_geometric(Operation operation) {
    return operation >= Operation::rotate && operation <= Operation::translate_y_share;
}

void apply(const OperationCall& call, const OperationStyle& style, RandomStream& random,
           Image& image, OperationWorkspace& workspace) {
    if (is_geometric(call.operation)) {
        const Interpolation drawn = style.interpolation   ? *style.interpolation
                                    : chance(random, 0.5) ? Interpolation::bilinear
                                                          : Interpolation::bicubic;
        return apply_geometric(call, drawn, style.outside, image, workspace.affine);
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
