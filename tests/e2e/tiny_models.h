// The tiny models of tests/e2e/data as words for the command line.
#pragma once

#include "e2e/command.h"

namespace cait::e2e {

using Words = std::vector<std::string>;

inline const Words kTinyCait = {"--model", "cait_xxs24_224", "--set", "model.image_size=16",
                                "--set",   "model.patch=8",  "--set", "model.classes=3",
                                "--set",   "model.dim=16",   "--set", "model.depth=2",
                                "--set",   "model.heads=2",  "--set", "model.class_layers=1"};
inline const Words kTinyDeit3 = {"--model", "deit3_small_patch16_224",
                                 "--set",   "model.image_size=16",
                                 "--set",   "model.patch=8",
                                 "--set",   "model.classes=3",
                                 "--set",   "model.dim=16",
                                 "--set",   "model.depth=2",
                                 "--set",   "model.heads=2"};

inline Words operator+(Words a, const Words& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

}  // namespace cait::e2e
