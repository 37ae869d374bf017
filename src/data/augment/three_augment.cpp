#include "data/augment/three_augment.h"

#include "data/augment/random.h"

namespace cait {

OperationList ThreeAugment::draw(RandomStream& random) const {
    OperationList list;
    switch (choose(random, 3)) {
        case 0: list.add({Operation::grey, 0}); break;
        case 1: list.add({Operation::solarize, kThreshold}); break;
        default: list.add({Operation::blur, uniform(random, kRadius.low, kRadius.high)}); break;
    }
    return list;
}

}  // namespace cait
