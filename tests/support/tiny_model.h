// A model of 16x16 pixels and three classes that tells images apart, for tests of whoever runs one.
#pragma once

#include "cait/model.h"

namespace cait::test {

inline Model tiny_model(std::uint64_t seed = 0) {
    Model model = Model::create("cait_xxs24_224",
                                {{"image_size", "16"},
                                 {"patch", "8"},
                                 {"dim", "16"},
                                 {"depth", "2"},
                                 {"heads", "2"},
                                 {"class_layers", "1"},
                                 {"residual_init", "1"},
                                 {"classes", "3"}},
                                seed);
    model.set_classes({"cat", "dog", "fish"});
    return model;
}

}  // namespace cait::test
