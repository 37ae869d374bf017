#include "data/augment/trivial_augment.h"

#include <array>
#include <cmath>

#include "data/augment/random.h"

namespace cait {

namespace {

using Op = Operation;

// In the order of torchvision's list.
constexpr std::array<Op, TrivialAugment::kOperations> kList{
    Op::identity,  Op::shear_x,    Op::shear_y,      Op::translate_x, Op::translate_y,
    Op::rotate,    Op::brightness, Op::colour,       Op::contrast,    Op::sharpness,
    Op::posterize, Op::solarize,   Op::autocontrast, Op::equalize};

}  // namespace

OperationCall TrivialAugment::call(int index, int strength, bool negative) {
    const Op operation = kList[std::size_t(index)];
    const double sign = negative ? -1 : 1;
    const auto share = float(strength) / float(kStrengths - 1);
    switch (operation) {
        case Op::shear_x:
        case Op::shear_y: return {operation, sign * double(share * 0.99F)};
        case Op::translate_x:
        case Op::translate_y:
            // Whole pixels; torchvision moves the image to the right, timm (and we) to the left.
            return {operation, -sign * std::trunc(double(share * 32.0F))};
        case Op::rotate: return {operation, sign * double(share * 135.0F)};
        case Op::brightness:
        case Op::colour:
        case Op::contrast:
        case Op::sharpness: return {operation, 1 + sign * double(share * 0.99F)};
        case Op::posterize: return {operation, 8 - std::nearbyint(double(strength) / 5)};
        case Op::solarize: return {operation, double(255.0F - share * 255.0F)};
        default: return {operation, 0};
    }
}

OperationList TrivialAugment::draw(RandomStream& random) const {
    const auto index = int(choose(random, kOperations));
    const auto strength = int(choose(random, kStrengths));
    OperationList list;
    list.add(call(index, strength, chance(random, 0.5)));
    return list;
}

}  // namespace cait
