#include "train/run/recipe_changes.h"

#include "train/run/run_identity.h"

namespace cait {

std::vector<std::string> changes_beside_seed(const Recipe& before, const Recipe& now) {
    RunIdentity first = identity_of(before), second = identity_of(now);
    for (RunIdentity* identity : {&first, &second}) identity->erase("train.seed");
    return changes_between(first, second);
}

}  // namespace cait
