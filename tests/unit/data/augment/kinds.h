// The kinds of policy operations by the names that tests/golden/make_augment.py gives them.
#pragma once

#include <map>
#include <string>

#include "data/augment/operation_level.h"

namespace cait::test {

inline const std::map<std::string, OperationKind> kKinds{
    {"autocontrast", OperationKind::autocontrast},
    {"equalize", OperationKind::equalize},
    {"invert", OperationKind::invert},
    {"rotate", OperationKind::rotate},
    {"posterize", OperationKind::posterize},
    {"posterize_increasing", OperationKind::posterize_increasing},
    {"posterize_original", OperationKind::posterize_original},
    {"solarize", OperationKind::solarize},
    {"solarize_increasing", OperationKind::solarize_increasing},
    {"solarize_add", OperationKind::solarize_add},
    {"colour", OperationKind::colour},
    {"colour_increasing", OperationKind::colour_increasing},
    {"contrast", OperationKind::contrast},
    {"contrast_increasing", OperationKind::contrast_increasing},
    {"brightness", OperationKind::brightness},
    {"brightness_increasing", OperationKind::brightness_increasing},
    {"sharpness", OperationKind::sharpness},
    {"sharpness_increasing", OperationKind::sharpness_increasing},
    {"shear_x", OperationKind::shear_x},
    {"shear_y", OperationKind::shear_y},
    {"translate_x_rel", OperationKind::translate_x_rel},
    {"translate_y_rel", OperationKind::translate_y_rel},
    {"desaturate", OperationKind::desaturate},
    {"gaussian_blur", OperationKind::gaussian_blur}};

// What changes nothing, from where a sign goes both ways.
inline double neutral(Operation operation) {
    return operation >= Operation::colour && operation <= Operation::sharpness ? 1 : 0;
}

inline bool has_sign(const std::string& kind) {
    return kind == "rotate" || kind.starts_with("shear") || kind.starts_with("translate") ||
           (kind.ends_with("_increasing") && !kind.starts_with("posterize") &&
            !kind.starts_with("solarize"));
}

}  // namespace cait::test
